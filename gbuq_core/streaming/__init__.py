"""Scoring files that do not fit into memory: blocks of rows in, part files out.

A file is read twice: once to learn what the one-piece reader would conclude about its columns, and
once block by block. It follows no paper; the numbers are those of `gbuq_core.tables.score_table`.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
