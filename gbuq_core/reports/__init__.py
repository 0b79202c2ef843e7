"""A scored table in words and pictures: what the page, its HTML report and the command line share.

pictures    the row map, rejection, coverage, trees in use, and scores as cells
row         one row in words
page        the HTML report as a whole; the other files are its sections
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
