"""A place of the Novelty maps page whose rows are erased, as cells and as a link says it."""

from gbuq_core.study.novelty_maps import write_places

PLACE = (34, 20)  # at the upper left of the moons
ERASED = write_places([PLACE])
