"""Trees without a loss: binning, histograms, splits, oblivious forests and their predictions.

Nothing here knows about gradients' meaning or about uncertainty; `boosting` does.
"""
