"""Saved models: the container, and what the files of all estimators have in common.

No pickle: an npz archive with a JSON header. Each estimator's room has a ``saving.py`` that knows
what its own files hold; `gbuq_core.load` asks the right one.
"""
