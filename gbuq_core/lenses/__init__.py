"""What is seen in a scored table, in words and pictures, which page, report and commands share.

lens        the record of a question about a table or a row, and where it is drawn
register    all lenses, and how another one is added
choices     what a reader chooses that several lenses look at
pictures    the row map, rejection, coverage, trees in use, and scores as cells
row         one row in words
report      all lenses of the table as one HTML file; the other files are a lens each, or a few
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
