"""Total, data and knowledge uncertainty of an ensemble, for regression and classification.

Follows Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles",
equations 3 to 6. Members are the first axis, rows the second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbuq_core.array_checks import check_array
from gbuq_core.errors import InvalidData

if TYPE_CHECKING:
    from gbuq_core.figures.canvas.panels import PanelSheet
    from gbuq_core.figures.curves import Curves

# A float32 softmax over a thousand classes still sums to one within this.
_PROBABILITY_SUM_TOLERANCE = 1e-4
_TINY = float(np.finfo(np.float64).tiny)
_ABOVE_MINUS_ONE = float(np.nextafter(-1.0, 0.0))
# Rows per block of the class entropies: 20 members x 2048 rows x 3 classes stay in the cache.
_BLOCK_ROWS = 2048


class Uncertainty(NamedTuple):
    """Total = data + knowledge, per row: variances of y (regression) or nats (classification).

    Attributes
    ----------
    total : ndarray of shape (n_samples,)
        Uncertainty of the prediction as a whole.
    data : ndarray of shape (n_samples,)
        Part that more rows cannot remove: noise, overlap of classes (aleatoric).
    knowledge : ndarray of shape (n_samples,)
        Disagreement of the members (epistemic). Of independent models it is large where they saw
        few rows; of truncations of one model it need not be. NaN where nothing can disagree: total
        is then data.
    """

    total: NDArray[np.float64]
    data: NDArray[np.float64]
    knowledge: NDArray[np.float64]

    def without_knowledge(self) -> Uncertainty:
        """The same of a model that has no members to disagree: knowledge is not known (NaN).

        Examples
        --------
        >>> Uncertainty(np.ones(1), np.ones(1), np.zeros(1)).without_knowledge()
        Uncertainty(total=array([1.]), data=array([1.]), knowledge=array([nan]))
        """
        return self._replace(knowledge=np.full_like(self.total, np.nan))

    def plot(
        self, X: Any, *, X_rows: Any = None, columns: Any = None, unit: str = ""
    ) -> PanelSheet | Curves:
        """Draw it over the rows that were scored: maps over two features, curves over one.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            The rows that were scored. Rows on an even grid fill the cells of a map; of other rows
            the mean in each cell is drawn.
        X_rows : DataFrame or array-like, optional
            Rows that are drawn as dots, for example those of the training.
        columns : int, str or a sequence of one or two, optional
            The columns of X that are drawn. Without it those that vary.
        unit : str
            Written beside the colours.

        Returns
        -------
        PanelSheet or Curves
            A notebook shows it where it is the last line of a cell; `gbuq_core.figures.show`
            returns its widget, `gbuq_core.figures.standalone.standalone_html` a page.

        Raises
        ------
        InvalidData
            If X has other rows, or the columns are not of numbers.
        InvalidParameter
            If more than two columns vary and none are named.

        Examples
        --------
        >>> grid = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
        >>> noise, doubt = np.ones(4), np.array([0.0, 0.0, 0.5, 2.0])
        >>> sheet = Uncertainty(noise + doubt, noise, doubt).plot(grid)
        >>> [panel.title for panel in sheet.panels], sheet.panels[2].values.tolist()
        (['Total', 'Data', 'Knowledge'], [[0.0, 0.0], [0.5, 2.0]])
        """
        from gbuq_core.figures.plots import plot_uncertainty

        return plot_uncertainty(self._asdict(), X, X_rows=X_rows, columns=columns, unit=unit)


def mean_over_members(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the first axis, (n_samples, ...), added up in the order of the members.

    NumPy adds in another order when there is one row only, so that a row's mean would depend on the
    rows that it is computed with.
    """
    total = values[0].copy()
    for member in values[1:]:
        total += member
    total /= len(values)
    return total


def variance_over_members(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variance over the first axis, centred first, added up in the order of the members."""
    return mean_over_members(np.square(values - mean_over_members(values)))


def decompose_regression(means: ArrayLike, variances: ArrayLike) -> Uncertainty:
    """Decompose the variance of y by the law of total variance.

    ``data = mean_m s_m^2``, ``knowledge = var_m mu_m`` (divided by the number of members) and
    ``total = data + knowledge``.

    Parameters
    ----------
    means : array-like of shape (n_members, n_samples)
        Predicted means, in units of y.
    variances : array-like of shape (n_members, n_samples)
        Predicted variances, in squared units of y.

    Returns
    -------
    Uncertainty
        Three arrays of shape (n_samples,), in squared units of y. With a single member
        ``knowledge`` is 0: one member cannot disagree, however unsure it is.

    Raises
    ------
    InvalidData
        If an array does not have two axes, is not finite, the shapes differ or a variance is
        negative.

    References
    ----------
    Malinin et al. (2021), equations 5 and 6.

    Examples
    --------
    >>> decompose_regression([[1.0], [3.0]], [[4.0], [6.0]])
    Uncertainty(total=array([6.]), data=array([5.]), knowledge=array([1.]))
    """
    mu = check_array("means", means, 2, min_length=0)
    s2 = check_array("variances", variances, 2, low=0.0, min_length=0)
    if mu.shape != s2.shape:
        raise InvalidData(
            f"means and variances must have one shape; got {mu.shape} and {s2.shape}."
        )
    return split_variance(mu, s2)


def split_variance(means: NDArray[np.float64], variances: NDArray[np.float64]) -> Uncertainty:
    """`decompose_regression` of arrays (n_members, n_samples) float64 that are known to be valid.

    >>> split_variance(np.array([[1.0], [3.0]]), np.array([[4.0], [6.0]])).knowledge
    array([1.])
    """
    data = mean_over_members(variances)
    knowledge = variance_over_members(means)
    return Uncertainty(total=data + knowledge, data=data, knowledge=knowledge)


def decompose_classification(probabilities: ArrayLike) -> Uncertainty:
    """Decompose the entropy of the mean prediction into expected entropy and mutual information.

    ``total = H(mean_m p_m)``, ``data = mean_m H(p_m)``, ``knowledge = total - data``, in nats.

    Parameters
    ----------
    probabilities : array-like of shape (n_members, n_samples, n_classes)
        Class probabilities of each member; zeros are allowed.

    Returns
    -------
    Uncertainty
        Three arrays of shape (n_samples,), in nats, at most ``log(n_classes)``. With a single
        member ``knowledge`` is 0: one member cannot disagree, however unsure it is.

    Raises
    ------
    InvalidData
        If the array does not have three axes, is not finite, or its rows are not probabilities.

    Notes
    -----
    The difference of two entropies near 0.7 has rounding errors near 1e-16, sometimes negative,
    and virtual ensembles disagree by less than that. The equal ``mean_m KL(p_m || mean p)`` is
    summed instead: every term is non-negative and small values keep their digits, so nothing has
    to be clipped except the rounding of the terms themselves. ``total`` is then ``data +
    knowledge``, the entropy of the mean to rounding.

    References
    ----------
    Malinin et al. (2021), equations 3 and 4.

    Examples
    --------
    >>> u = decompose_classification([[[1.0, 0.0]], [[0.0, 1.0]]])  # sure, and of two minds
    >>> [round(float(part[0]), 4) for part in u]
    [0.6931, 0.0, 0.6931]
    """
    p = check_probabilities("probabilities", probabilities, 3, min_length=0)
    data = np.empty(p.shape[1])
    knowledge = np.empty(p.shape[1])
    for start in range(0, p.shape[1], _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        data[rows] = mean_over_members(entropy(p[:, rows]))
        knowledge[rows] = _mean_divergence(p[:, rows])
    return Uncertainty(total=data + knowledge, data=data, knowledge=knowledge)


def entropy(probabilities: ArrayLike) -> NDArray[np.float64]:
    """Entropy in nats over the last axis, ``-sum p log p`` with ``0 log 0 = 0``."""
    p = np.asarray(probabilities, dtype=np.float64)
    log_p = np.log(np.maximum(p, _TINY))  # finite at p = 0, where its factor p removes it
    # A probability one rounding above 1 would give -2e-16.
    return np.maximum(-(p * log_p).sum(axis=-1), 0.0)


def check_probabilities(
    name: str, probabilities: ArrayLike, ndim: int, *, min_length: int = 1
) -> NDArray[np.float64]:
    """Return class probabilities (last axis) as float64 if they are in [0, 1] and sum to one."""
    p = np.asarray(probabilities)
    if p.ndim == ndim and p.shape[-1] > 0 and p.size == 0 and min_length == 0 and p.shape[0] > 0:
        return p.astype(np.float64)  # members without rows: an empty table was scored
    p = check_array(name, probabilities, ndim, low=0.0, high=1.0 + _PROBABILITY_SUM_TOLERANCE)
    worst = np.abs(p.sum(axis=-1) - 1.0).max()
    if worst > _PROBABILITY_SUM_TOLERANCE:
        raise InvalidData(
            f"{name} must sum to one over the classes (the last axis); one sum is off by {worst:g}."
        )
    return p


def _mean_divergence(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """``mean_m sum_c [p log(p/q) - p + q]`` with q the mean over members: (n_samples,) in nats.

    The added ``q - p`` vanishes in the mean over members and makes every term non-negative.
    Written with ``r = (p - q)/q`` a term is ``q [(1 + r) log(1 + r) - r]``, exact for small r.
    """
    q = mean_over_members(p)
    r = (p - q) / np.maximum(q, _TINY)
    log_ratio = np.log1p(np.maximum(r, _ABOVE_MINUS_ONE))  # at p = 0 its factor 1 + r is 0
    terms = q * ((1.0 + r) * log_ratio - r)
    # For |r| below 1e-8 the bracket, r^2/2, is lost in its own rounding and may come out negative.
    return mean_over_members(np.maximum(terms, 0.0).sum(axis=-1))
