"""Writes docs/scikit_learn.md: what scikit-learn's array API support does with tensors.

Arguments are those of `tools/scientific/scipy_table.py`, which tries the calls.
"""

import importlib
import sys
from functools import partial
from pathlib import Path

import sklearn
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

import scipy_table as trials  # switches SciPy's array API support on before its first import
from sklearn_calls import CALLS, make_arrays

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scikit_learn.md"
ESTIMATORS = {kind.__name__: kind for kind in (LogisticRegression, Ridge, StandardScaler)}
INTRODUCTION = """# scikit-learn on tensors

Written by `make scipy` with {version}, `SCIPY_ARRAY_API=1` and
`sklearn.set_config(array_api_dispatch=True)`. It lists the functions that scikit-learn's
documentation names for the array API, and a few more. Words after a name select one of several
methods of computation.

* *values*: `yes` if a call with tensors gives the values of the same call with arrays; `arrays` if
  the result is a Python number, as for most metrics, or an array; otherwise the error.
* *gradient*: `yes` if the gradients of predictions, transforms and scores, fitting included, agree
  with central differences for all float arrays among the arguments; `zero` if the result does not
  depend on them smoothly; `–` if no argument is an array of floats.
    * `GraphCutError`: scikit-learn converts the tensor to a number or an array, as in metrics that
      return a float. Use `multioutput="raw_values"` if the metric has it, write the metric with
      `fg`'s operations, or pass `t.detach()`.
    * `InPlaceError`: scikit-learn writes into an array whose values a derivative needs,
      `X /= norm(X)`. PyTorch refuses this, too. Transform `t.detach()`, or write `X / norm(X)`.
    * `TypeError`: `roc_curve` calls `diff` and `where` with arguments that are not in the standard,
      except with `drop_intermediate=False`.
    * `NaN`: scikit-learn computes 0 / 0 and overwrites the result, in the running variance of the
      first batch of `StandardScaler`. `fg.detect_anomaly()` names the operation. Write
      `(X - mean) / std` instead.

Of {all} calls {right} are right in both: {differentiated} have gradients, {constant} are piecewise
constant, {plain} take no floats. {numbers} more give the right numbers.

```sh
SCIPY_ARRAY_API=1 python -c "
import ferrograd as fg
import sklearn
from sklearn.linear_model import Ridge

sklearn.set_config(array_api_dispatch=True)
X = fg.tensor([[0.0], [1.0], [3.0]], requires_grad=True)
y = fg.tensor([1.0, 2.0, 3.0])
Ridge(solver='svd').fit(X, y).predict(X)[0].backward()
print(X.grad)"
```"""


def try_estimators(only: list[str]) -> list[trials.Row]:
    """The rows of all calls, or of those whose names hold one of the words."""
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401

    pool, rows = make_arrays(), []
    for name, expression in CALLS.items():
        if only and not any(word in name for word in only):
            continue
        home, _, kind = name.partition(" ")[0].rpartition(".")
        function = getattr(importlib.import_module(f"sklearn.{home}"), kind)
        with sklearn.config_context(array_api_dispatch=True):
            rows.append(trials.try_argument(name, function, pool, expression, 1e-6))
    return rows


if __name__ == "__main__":
    trials.SCOPE.update(ESTIMATORS)
    write = partial(trials.write_page, PAGE, "sklearn", f"scikit-learn {sklearn.__version__}")
    sys.exit(write(INTRODUCTION, try_estimators))
