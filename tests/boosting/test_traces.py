"""What an ensemble tells about its training: losses of both kinds of rows and sizes of trees."""

import math

import numpy as np
import pytest
from boosting_parts import KINDS, fitted
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor, make_heart
from gbuq_core.boosting.plan import gradient_scale
from gbuq_core.errors import InvalidData


@KINDS
@pytest.mark.parametrize("method", ["sgb", "sglb", "csglb", "cbsglb"])
def test_traces_tell_the_loss_of_the_training_rows(kind, method):
    model, spiral = fitted(kind, method, n_members=2)
    X = spiral.X[:, :2]
    check = model.validation_losses(X, spiral.y, every=1)
    assert len(model.traces_) == model.plan_.n_models == len(check.loss)
    for trace, losses in zip(model.traces_, check.loss, strict=True):
        assert trace.n_trees.tolist() == check.n_trees.tolist() == list(range(1, 61))
        # Predictions of cells are summed in another order, with divisions by the shrinkage.
        np.testing.assert_allclose(trace.train_loss, losses, rtol=CANCELLED)
        expected = gradient_scale(60, method, 15, 10.0, 1.0)
        np.testing.assert_array_equal(trace.scale, expected)
        assert (trace.leaf_norm > 0).all()
    assert model.traces_[0].train_loss[-1] < model.traces_[0].train_loss[0]


def test_leaf_norm_is_the_size_of_a_tree():
    """Without shrinkage a tree adds what the raw outputs move by; here in logits."""
    model, spiral = fitted(BoostedEnsembleClassifier, "sgb", n_members=1)
    raw = np.log(model.staged_members(spiral.X[:, :2], every=1).members[:, 0])
    moved = np.diff(raw, axis=0)
    values = model.models_.forests[0].values
    leaves = model.leaf_indices(spiral.X[:, :2])
    for tree in (0, 20, 59):
        added = values[tree][leaves[:, tree]]
        norm = np.sqrt((added**2).sum(axis=1).mean())
        assert model.traces_[0].leaf_norm[tree] == pytest.approx(norm, rel=SAME_SUM)
    centred = added - added.mean(axis=1, keepdims=True)  # logits are known up to a constant
    again = moved[58] - moved[58].mean(axis=1, keepdims=True)
    np.testing.assert_allclose(again, centred, atol=NEAR_ZERO)


def test_traces_are_in_the_unit_of_y():
    """The NLL of a*y is that of y plus log a."""
    heart = make_heart(n_per_cell=5, random_state=0)
    knobs = {
        "stopping": None,
        "method": "cbsglb",
        "n_trees": 40,
        "cycle_length": 10,
        "random_state": 0,
    }
    small = BoostedEnsembleRegressor(**knobs).fit(heart.X, heart.y)
    ten = BoostedEnsembleRegressor(**knobs).fit(heart.X, 10.0 * heart.y)
    np.testing.assert_allclose(
        ten.traces_[0].train_loss, small.traces_[0].train_loss + math.log(10.0), rtol=CANCELLED
    )


def test_other_rows_losses_need_known_classes_and_equal_lengths():
    model, spiral = fitted(BoostedEnsembleClassifier)
    with pytest.raises(InvalidData, match=r"^y holds the class 7, which was not in"):
        model.validation_losses(spiral.X[:, :2], np.full(180, 7))
    with pytest.raises(InvalidData, match=r"^The arrays must describe the same rows"):
        model.validation_losses(spiral.X[:, :2], spiral.y[:5])
    for target in (None, spiral.y[:, None]):
        with pytest.raises(InvalidData, match=r"^y must have one value a row"):
            model.validation_losses(spiral.X[:, :2], target)
    short, _ = fitted(BoostedEnsembleClassifier, n_trees=4, cycle_length=2)
    assert short.validation_losses(spiral.X[:, :2], spiral.y).n_trees.tolist() == [4]
