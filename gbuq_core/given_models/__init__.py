"""Models that exist already: read from files that a stranger may have made, checked, and judged.

A file is read in a process of its own and comes back as plain arrays (`read_model`); the model is
held against the table that it was trained on (`match_table`); then IBUG (Brophy and Lowd, 2022),
truncations (Malinin et al., 2021) and MACAU's novelty (Merilinna, 2023) read its trees.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
