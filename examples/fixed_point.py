"""The derivative of a fixed point, by the implicit function theorem in a custom `Function`.

What it shows: z = tanh(W z + x) is solved by as many iterations as it takes, recording none of
them; backward solves one linear fixed point instead. The result equals the gradient through all
the iterations, whose memory grows with their number. A deep equilibrium layer is this function
inside a network: it is trained here to classify scikit-learn's iris flowers.
Method: Bai, Kolter and Koltun, Deep Equilibrium Models, 2019.

    python examples/fixed_point.py --compile
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from tqdm import tqdm

import ferrograd as fg
import support

SIZE, TOLERANCE = 16, 1e-12


class Equilibrium(fg.Function):
    """z with z = tanh(z W + x): rows of z and x, one matrix W."""

    @staticmethod
    def forward(ctx, x, weights):
        """Iterates until nothing moves; only the result is kept."""
        z = fg.zeros_like(x)
        while True:
            new = fg.tanh(z @ weights + x)
            if np.abs(new.numpy() - z.numpy()).max() < TOLERANCE:
                break
            z = new
        ctx.save_for_backward(weights, new)
        return new

    @staticmethod
    def backward(ctx, g):
        """u = (g + u Wᵀ)·tanh'; then dL/dx = u and dL/dW = zᵀ u."""
        weights, z = ctx.saved_tensors
        slope, u = 1 - z**2, fg.zeros_like(g)
        while True:
            new = (g + u @ weights.T) * slope
            if np.abs(new.numpy() - u.numpy()).max() < TOLERANCE:
                return new, z.T @ new
            u = new


def unroll(x, weights, count: int):
    """The same fixed point by `count` recorded iterations."""
    z = fg.zeros_like(x)
    for _ in range(count):
        z = fg.tanh(z @ weights + x)
    return z


def compare(rng) -> list[tuple[int, float, int]]:
    """Iterations, error of the unrolled gradient and bytes it keeps, against the implicit one."""
    weights = fg.tensor(0.25 * rng.normal(size=(SIZE, SIZE)) / np.sqrt(SIZE), requires_grad=True)
    x = fg.tensor(rng.normal(size=(8, SIZE)), requires_grad=True)
    fg.gradcheck(Equilibrium.apply, (x, weights))
    exact = fg.autograd.grad(Equilibrium.apply(x, weights).sum(), [x, weights])
    rows = []
    for count in (2, 4, 8, 16, 32):
        before = fg.live_bytes()
        z = unroll(x, weights, count)
        kept = fg.live_bytes() - before
        found = fg.autograd.grad(z.sum(), [x, weights])
        error = max(np.abs((a - b).numpy()).max() for a, b in zip(exact, found, strict=True))
        rows.append((count, float(error), kept))
    return rows


def train(steps: int, rng, compiled) -> tuple[list[float], float]:
    """Losses and accuracy of a classifier whose hidden layer is an equilibrium."""
    iris = load_iris()
    flowers = (iris.data - iris.data.mean(axis=0)) / iris.data.std(axis=0)
    shapes = {"enter": (4, SIZE), "inner": (SIZE, SIZE), "leave": (SIZE, 3)}
    parameters = {
        name: fg.tensor(0.3 * rng.normal(size=shape) / np.sqrt(shape[0]), requires_grad=True)
        for name, shape in shapes.items()
    }
    optimiser = fg.optim.Adam(list(parameters.values()), lr=0.02)

    def step():
        optimiser.zero_grad()
        hidden = Equilibrium.apply(flowers @ parameters["enter"], parameters["inner"])
        logits = hidden @ parameters["leave"]
        loss = fg.cross_entropy(logits, iris.target)
        loss.backward()
        optimiser.step()
        return loss.detach(), logits.detach()

    step, losses = compiled(step), []
    for _ in tqdm(range(steps), desc="training", unit="step"):
        loss, logits = step()
        losses.append(float(loss))
    right = np.mean(np.asarray(logits).argmax(axis=1) == iris.target)
    return losses, float(right)


def main() -> None:
    """Compares the two gradients, trains, draws."""
    options = support.parse_options(
        "implicit differentiation of a fixed point", compiles=True, steps=60
    )
    rng = np.random.default_rng(options.seed)
    rows = compare(rng)
    for count, error, kept in rows:
        print(f"{count:3} recorded iterations: gradient off by {error:.1e}, {kept} bytes kept")
    losses, right = train(options.steps, rng, options.compiled)
    print(f"loss: {losses[0]:.4f} at first, {losses[-1]:.4f} at last")
    print(f"accuracy: {100 * right:.2f} %")
    figure, (left, other) = plt.subplots(1, 2, figsize=(9, 4))
    left.semilogy([row[0] for row in rows], [row[1] for row in rows], marker="o")
    left.set(xlabel="recorded iterations", ylabel="distance from the implicit gradient")
    other.semilogy(losses)
    other.set(xlabel="step", ylabel="cross-entropy", title="Equilibrium layer on iris flowers")
    support.save_figure(figure, options.out, "fixed_point.png")


if __name__ == "__main__":
    main()
