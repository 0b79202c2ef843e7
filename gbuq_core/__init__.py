"""gbuq: uncertainty in gradient-boosted and other tree ensembles, usable without the app."""
