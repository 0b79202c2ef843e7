"""What is seen in a scored table, in words and pictures, which page, report and commands share.

choices     what a reader chooses about the lenses
pictures    the row map, rejection, coverage, trees in use, and scores as cells
row         one row in words
report      all of them as one HTML file; the other files are one lens each
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
