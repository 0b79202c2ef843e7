"""The project file ``.gbuq``: a table's settings and models, in one zip archive without pickle.

Settings, the columns with the user's corrections, calibration, the trained models
in their own safe archives and, if wished, the table. ``docs/projects.md`` describes the format.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
