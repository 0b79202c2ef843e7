"""Slow, obvious twins of MACAU: scikit-learn's estimators in one leaf after the other."""

import numpy as np
from sklearn.covariance import OAS
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import QuantileTransformer, RobustScaler


def rows_of(table, leaf):
    return table.rows[table.begin[leaf] : table.begin[leaf + 1]]


def path_of(table, leaf):
    return table.path[table.path_begin[leaf] : table.path_begin[leaf + 1]]


def leaf_distances(train, X):
    """Distances of the rows of X to the rows of a leaf."""
    scaler = RobustScaler().fit(train)
    return np.sqrt(OAS().fit(scaler.transform(train)).mahalanobis(scaler.transform(X)))


def to_z(train, values):
    """The z-scores of the authors: scikit-learn's quantile transform to a normal."""
    n_quantiles = min(1000, len(train))
    scaler = QuantileTransformer(
        n_quantiles=n_quantiles, output_distribution="normal", subsample=None
    )
    return scaler.fit(train[:, None]).transform(values[:, None])[:, 0]


def tree_z(X_train, X, table, numbers, tree, conditional):
    """z-scores of rows X in one tree."""
    own, new = np.empty(len(X_train)), np.empty(len(X))
    for leaf in range(table.first[tree], table.first[tree + 1]):
        rows, inside = rows_of(table, leaf), numbers[:, tree] == leaf
        columns = path_of(table, leaf) if conditional else np.arange(X.shape[1])
        train = X_train[np.ix_(rows, columns)]
        own[rows] = leaf_distances(train, train)
        if inside.any():
            new[inside] = leaf_distances(train, X[np.ix_(np.flatnonzero(inside), columns)])
    return to_z(own, new)


def weighted_spread(z, n_rows):
    """The authors' spread over the trees."""
    centre = z.mean(axis=1, keepdims=True)
    return np.sqrt(np.average((z - centre) ** 2, weights=n_rows - 1, axis=1))


def shapley(deviation, precision):
    """Shapley values of the squared Mahalanobis distance by their definition, for p <= 10.

    A coalition of features is worth the squared distance of a row whose other features are at
    their means.
    """
    p, values = len(deviation), np.zeros(len(deviation))
    for j in range(p):
        for mask in range(2**p):
            if mask >> j & 1:
                continue
            inside = np.array([bool(mask >> k & 1) for k in range(p)])
            size = int(inside.sum())
            weight = 1.0 / (p * _choose(p - 1, size))
            without = np.where(inside, deviation, 0.0)
            joined = without.copy()
            joined[j] = deviation[j]
            values[j] += weight * (joined @ precision @ joined - without @ precision @ without)
    return values


def _choose(n, k):
    return int(np.prod(np.arange(n - k + 1, n + 1)) // np.prod(np.arange(1, k + 1)))


def delta_logistic(train, labels, X, tol=1e-12):
    """Probability and delta-method std of rows X, on the leaf's own scaling."""
    scaler = RobustScaler().fit(train)
    Z, new = scaler.transform(train), scaler.transform(X)
    if len(np.unique(labels)) == 1:
        return np.full(len(X), float(labels[0])), np.zeros(len(X))
    model = LogisticRegression(tol=tol, max_iter=10_000).fit(Z, labels)
    p, q = model.predict_proba(Z)[:, 1], model.predict_proba(new)[:, 1]
    covariance = np.linalg.pinv((Z.T * (p * (1 - p))) @ Z)
    slope = (q * (1 - q))[:, None] * new
    return q, np.sqrt(np.einsum("ij,jk,ik->i", slope, covariance, slope))
