"""Edits of the Novelty maps page, as the lasso's cells and as a link says them."""

from gbuq_core.experiments.novelty.edits import edit_of, encode_edits

# The upper left part of the moons, and a corner where there are no rows.
LEFT = [(row, column) for row in range(28, 40) for column in range(14, 26)]
CORNER = [(row, column) for row in range(52, 56) for column in range(3, 7)]
ERASED = encode_edits([edit_of("remove", LEFT)])
