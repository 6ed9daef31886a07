"""The rates of a predator-prey model, fitted through the solver of its differential equation.

What it shows: gradients through a Runge-Kutta integrator, which is an ordinary Python loop, and a
Gauss-Newton fit whose Jacobian is one `fg.jacobian`. The data are noisy samples of a known
solution, so that the answer can be judged.

    python examples/ode.py --compile
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import ferrograd as fg
import ferrograd.numpy as fnp
import support

TRUE_PARAMETERS = np.array([1.1, 0.4, 0.4, 0.1])  # births, being eaten, deaths, growth from eating
START, STEP, COUNT, NOISE = np.array([10.0, 5.0]), 0.2, 100, 0.3


def compute_derivative(state, rates):
    """Lotka and Volterra's equations for (prey, predators)."""
    prey, predators = state[0], state[1]
    births, eaten, deaths, growth = rates[0], rates[1], rates[2], rates[3]
    return fnp.stack([prey * (births - eaten * predators), predators * (growth * prey - deaths)])


def solve(rates):
    """States at COUNT times: classic fourth-order Runge-Kutta steps."""
    state, states = START, []
    for _ in range(COUNT):
        k1 = compute_derivative(state, rates)
        k2 = compute_derivative(state + 0.5 * STEP * k1, rates)
        k3 = compute_derivative(state + 0.5 * STEP * k2, rates)
        k4 = compute_derivative(state + STEP * k3, rates)
        state = state + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(state)
    return fnp.stack(states)


def main() -> None:
    """Makes the data, fits, draws."""
    options = support.parse_options("an ODE fitted through its solver", compiles=True, every=5)
    rng = np.random.default_rng(options.seed)
    seen = np.arange(0, COUNT, options.every)
    data = np.asarray(solve(TRUE_PARAMETERS))[seen] + rng.normal(0, NOISE, (len(seen), 2))

    def residuals(log_rates):
        return ((solve(fnp.exp(log_rates))[seen] - data) / NOISE).ravel()

    guess = np.log(TRUE_PARAMETERS) + np.array([0.15, -0.15, 0.15, -0.15])
    slopes = options.compiled(fg.jacobian(residuals))
    fit = least_squares(lambda x: np.asarray(residuals(x)), guess, jac=slopes)
    rates = np.exp(fit.x)
    errors = np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac))) * rates
    for name, rate, error, true in zip("abcd", rates, errors, TRUE_PARAMETERS, strict=True):
        print(f"{name} = {rate:.4f} ± {error:.4f} (true {true})")
    print(f"mean squared residual: {np.mean(fit.fun**2):.3f} after {fit.nfev} evaluations")

    figure, axes = plt.subplots(figsize=(7, 4))
    times, path = STEP * (np.arange(COUNT) + 1), np.asarray(solve(rates))
    for column, name in enumerate(("prey", "predators")):
        axes.plot(times, path[:, column], color=f"C{column}", label=name)
        axes.plot(times[seen], data[:, column], "o", color=f"C{column}", alpha=0.5)
    axes.plot(times, np.asarray(solve(np.exp(guess))), ":", color="gray", lw=1)
    axes.set(xlabel="time", ylabel="animals", title="Fit (lines), data (dots), guess (dotted)")
    axes.legend()
    support.save_figure(figure, options.out, "ode.png")


if __name__ == "__main__":
    main()
