"""How `tools/scientific/sklearn_table.py` calls each estimator and function of scikit-learn."""
# ruff: noqa: E501

from typing import Any

import numpy as np


def make_arrays() -> dict[str, Any]:
    """The arrays that expressions name: those of floats are differentiated."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 4))
    target = points @ [1.0, 2.0, 3.0, 4.0] + 0.1 * rng.normal(size=30)
    classes = (target > 0).astype(int)
    return {
        "X": points,
        "Y": points + 1,
        "Z": points + rng.normal(size=points.shape),
        "y": target,
        "z": target + rng.normal(size=30),
        "c": classes,
        "d": np.where(rng.uniform(size=30) < 0.2, 1 - classes, classes),
        "p": rng.uniform(0.05, 0.95, 30),
        "rates": np.exp(0.3 * target) + 0.1,
        "means": np.exp(0.3 * target + 0.2),
        "P": rng.uniform(0.2, 2.0, (5, 3)),
        "Q": rng.uniform(0.2, 2.0, (5, 3)),
    }


CALLS = dict(
    line.split(": ", 1)
    for line in """\
calibration.CalibratedClassifierCV: f(LogisticRegression(), method="temperature", cv=3).fit(X, c).predict_proba(X)
decomposition.PCA: f(2, svd_solver="full").fit_transform(X)
decomposition.PCA covariance: f(2, svd_solver="covariance_eigh").fit_transform(X)
decomposition.PCA randomized: f(2, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0).fit_transform(X)
discriminant_analysis.LinearDiscriminantAnalysis: f().fit(X, c).decision_function(X)
kernel_approximation.Nystroem: f(n_components=5, random_state=0).fit_transform(X)
linear_model.LogisticRegression: f(solver="lbfgs").fit(X, c).predict_proba(X)
linear_model.PoissonRegressor: f(solver="lbfgs").fit(X, rates).predict(X)
linear_model.Ridge: f(solver="svd").fit(X, y).predict(X)
linear_model.RidgeCV: f().fit(X, y).predict(X)
linear_model.RidgeClassifier: f(solver="svd").fit(X, c).decision_function(X)
linear_model.RidgeClassifierCV: f().fit(X, c).decision_function(X)
mixture.GaussianMixture: f(2, init_params="random_from_data", random_state=0).fit(X).predict_proba(X)
naive_bayes.GaussianNB: f().fit(X, c).predict_proba(X)
preprocessing.Binarizer: f().fit_transform(X)
preprocessing.KernelCenterer: f().fit_transform(X @ X.T)
preprocessing.LabelBinarizer: f().fit_transform(c)
preprocessing.LabelEncoder: f().fit_transform(c)
preprocessing.MaxAbsScaler: f().fit_transform(X)
preprocessing.MinMaxScaler: f().fit_transform(X)
preprocessing.Normalizer: f().fit_transform(X)
preprocessing.PolynomialFeatures: f().fit_transform(X)
preprocessing.StandardScaler: f().fit_transform(X)
preprocessing.normalize: f(X, norm="l1")
preprocessing.minmax_scale: f(X)
preprocessing.maxabs_scale: f(X)
model_selection.GridSearchCV: f(Ridge(solver="svd"), dict(alpha=[0.1, 1.0])).fit(X, y).predict(X)
model_selection.RandomizedSearchCV: f(Ridge(solver="svd"), dict(alpha=[0.1, 1.0]), n_iter=2, random_state=0).fit(X, y).predict(X)
model_selection.HalvingGridSearchCV: f(Ridge(solver="svd"), dict(alpha=[0.1, 1.0]), random_state=0).fit(X, y).predict(X)
model_selection.HalvingRandomSearchCV: f(Ridge(solver="svd"), dict(alpha=[0.1, 1.0]), random_state=0).fit(X, y).predict(X)
model_selection.cross_val_predict: f(Ridge(solver="svd"), X, y, cv=3)
model_selection.train_test_split: f(X, y, random_state=0)
pipeline.make_pipeline: f(StandardScaler(), Ridge(solver="svd")).fit(X, y).predict(X)
metrics.accuracy_score: c, d
metrics.average_precision_score: c, p
metrics.balanced_accuracy_score: c, d
metrics.brier_score_loss: c, p
metrics.cluster.contingency_matrix: c, d
metrics.cluster.entropy: c
metrics.calinski_harabasz_score: X, c
metrics.cohen_kappa_score: c, d
metrics.confusion_matrix: c, d
metrics.d2_absolute_error_score: y, z
metrics.d2_brier_score: c, p
metrics.d2_log_loss_score: c, p
metrics.d2_pinball_score: y, z
metrics.d2_tweedie_score: y, z
metrics.davies_bouldin_score: X, c
metrics.det_curve: f(c, p)[:2]
metrics.explained_variance_score: y, z
metrics.f1_score: c, d
metrics.fbeta_score: c, d, beta=0.5
metrics.hamming_loss: c, d
metrics.jaccard_score: c, d
metrics.log_loss: c, p
metrics.matthews_corrcoef: c, d
metrics.max_error: y, z
metrics.mean_absolute_error: y, z
metrics.mean_absolute_percentage_error: y, z
metrics.mean_gamma_deviance: rates, means
metrics.mean_pinball_loss: y, z
metrics.mean_poisson_deviance: rates, means
metrics.mean_squared_error: y, z
metrics.mean_squared_error multioutput: Y, Z, multioutput="raw_values"
metrics.mean_squared_log_error: rates, means
metrics.mean_tweedie_deviance: rates, means, power=1.5
metrics.median_absolute_error: y, z
metrics.multilabel_confusion_matrix: c, d
metrics.pairwise.additive_chi2_kernel: P, Q
metrics.pairwise.chi2_kernel: P, Q
metrics.pairwise.cosine_similarity: P, Q
metrics.pairwise.cosine_distances: P, Q
metrics.pairwise.euclidean_distances: P, Q
metrics.pairwise.laplacian_kernel: P, Q
metrics.pairwise.linear_kernel: P, Q
metrics.pairwise.manhattan_distances: P, Q
metrics.pairwise.paired_cosine_distances: P, Q
metrics.pairwise.paired_euclidean_distances: P, Q
metrics.pairwise.paired_manhattan_distances: P, Q
metrics.pairwise.pairwise_distances: P, Q, metric="cosine"
metrics.pairwise.pairwise_kernels: P, Q, metric="rbf"
metrics.pairwise.polynomial_kernel: P, Q
metrics.pairwise.rbf_kernel: P, Q
metrics.pairwise.sigmoid_kernel: P, Q
metrics.precision_score: c, d
metrics.precision_recall_curve: c, p
metrics.precision_recall_fscore_support: c, d
metrics.r2_score: y, z
metrics.r2_score multioutput: Y, Z, multioutput="raw_values"
metrics.recall_score: c, d
metrics.roc_auc_score: c, p
metrics.roc_curve: f(c, p)[:2]
metrics.roc_curve complete: f(c, p, drop_intermediate=False)[:2]
metrics.root_mean_squared_error: y, z
metrics.root_mean_squared_log_error: rates, means
metrics.zero_one_loss: c, d
utils.extmath.randomized_svd: f(X, 2, random_state=0, power_iteration_normalizer="QR")
utils.extmath.safe_sparse_dot: X, X.T
utils.extmath.softmax: X
utils.extmath.row_norms: X
""".splitlines()
)
