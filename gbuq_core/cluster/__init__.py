"""Many machines: training, scoring and searching for neighbours on a cluster of Dask.

`open_cluster` finds a scheduler, or starts workers on this machine. Inside `Cluster.spread` every
fit trains its models and folds there, and a scored table its rows; `predict_parts` and
`search_parts` are for single estimators. Every number is the one machine's, whatever the workers
and the parts, bit for bit where the processors are equal.

Only this room imports Dask (extra ``cluster``), and only commands import this room.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
