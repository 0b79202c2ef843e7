"""Baselines from the papers: methods of other libraries behind this project's conventions.

Random forests as ensembles, either one forest in groups (vRF) or several forests, on scikit-learn's
trees (Malinin et al., 2021, appendix C); Euclidean neighbours and averages of distributions (Brophy
and Lowd, IBUG, 2022, appendix C.2 and section 5.2); posteriors over functions, XBART and a Gaussian
process (Cinquin et al., 2022, section 5). The peers of MACAU (Merilinna, 2023, section 4): forests
with the spread of their trees, quantiles, conformal intervals, a linear log-variance (GNLL),
NGBoost, CatBoost and isolation forests. `gbuq_core.methods` lists them all by name.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
