"""How unlike the training rows a row is, from measures that know it.

Novelty of the fifth paper (Merilinna 2023), affinity of the fourth (Brophy and Lowd 2022, section
3), knowledge uncertainty of independent models of the first (Malinin et al. 2021), distance and
range; the way to join their ranks is Wilson's (2019).
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
