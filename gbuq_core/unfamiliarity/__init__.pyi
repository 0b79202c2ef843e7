from gbuq_core.unfamiliarity.parts import PARTS
from gbuq_core.unfamiliarity.score import Reason, Unfamiliarity, UnfamiliarityScore

__all__ = ["PARTS", "Reason", "Unfamiliarity", "UnfamiliarityScore"]
