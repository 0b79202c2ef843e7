"""The papers that records cite, and the greys that their baselines share."""

SGLB = "Malinin, Prokhorenkova and Ustimenko (2021), Uncertainty in gradient boosting via ensembles"
CYCLICAL = (
    "Tan, Huertas and Zhao (2023), Efficient and effective uncertainty quantification in gradient "
    "boosting via cyclical gradient MCMC"
)
IBUG = (
    "Brophy and Lowd (2022), Instance-based uncertainty estimation for gradient-boosted "
    "regression trees"
)
SOFT_TREES = "Cinquin et al. (2022), Variational boosted soft trees"
MACAU = (
    "Merilinna (2023), Advanced uncertainty quantification and novelty detection for random "
    "forest models"
)
STACKING = (
    "Yao, Vehtari, Simpson and Gelman (2018), Using stacking to average Bayesian predictive "
    "distributions"
)
RASMUSSEN = "Rasmussen and Williams (2006), Gaussian processes for machine learning"

GREY, DARK_GREY = "#a6a6a6", "#8f8f8f"  # of baselines, told apart by their dashes
