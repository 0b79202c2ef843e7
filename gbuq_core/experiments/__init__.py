"""Experiments of the pages, without the pages: a configuration in, numbers out.

One module for each; a page, its lesson and the code it offers for copying call the same function.
Papers: "Uncertainty in gradient boosting via ensembles" for `wave`, `heart` and the spiral,
"Cyclical gradient MCMC" for the spiral and the 25 Gaussians.
"""
