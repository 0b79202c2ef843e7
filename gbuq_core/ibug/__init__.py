"""IBUG: a point-predicting tree model made probabilistic by the training rows behind a prediction.

Brophy and Lowd (2022): affinity kernels, neighbours, posterior families, calibration, estimator.
"""
