"""Settings of a small ensemble, and the file of a model."""

import io

SMALL = {"stopping": None, "n_members": 2, "n_trees": 20, "depth": 3, "random_state": 0}


def saved(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()
