"""Variational soft trees and their boosting: whole functions drawn from a posterior over trees.

Follows "Variational Boosted Soft Trees" (Cinquin, Rukat, Schmidt, Wistuba and Bekasov, 2022),
sections 4.1 and 4.2 and supplement 1.1; the softmax leaves are ours.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
