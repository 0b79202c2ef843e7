"""Trees without a loss: binning, histograms, splits, oblivious forests and their predictions.

Losses and uncertainty are in `boosting`.
"""
