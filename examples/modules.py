"""The digits network out of `fg.nn`, its last layer a module with a backward of its own.

What it shows: modules, a loss, an optimiser, and `wrap_forward`, which makes a whole module one
node of the graph whose derivative you write. The same network in plain operators, from the same
seed, has the same losses to 1e-12: modules are a thin face over the same engine.

    python examples/modules.py --seed 0 --steps 400
"""

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import ferrograd as fg
import support
from ferrograd import nn

HIDDEN, BATCH, RATE = 64, 64, 0.3


class LinearManual(nn.Module):
    """`x W + b` as one node: nothing inside is recorded, the backward is written by hand."""

    def __init__(self, weight: nn.Parameter, bias: nn.Parameter) -> None:
        super().__init__()
        self.weight, self.bias = weight, bias  # assigning a parameter registers it

    def forward(self, x: fg.Tensor) -> fg.Tensor:
        """Computes, names the inputs, hands over the backward."""
        return self.wrap_forward(
            x,
            forward_fn=lambda x: x @ self.weight + self.bias,
            inputs_fn=lambda: [x, self.weight, self.bias],
            backward_fn=self.build_backward,
        )

    @staticmethod
    def build_backward(op: fg.functors.Op) -> list[fg.Tensor]:
        """One gradient for each entry of `inputs_fn`: dx = g Wᵀ, dW = xᵀ g, db = Σ g."""
        x, weight, _ = op.inputs
        (g,) = op.grad_outputs
        return [g @ weight.T, x.T @ g, g.sum(axis=0)]


def draw_initial_values(rng: np.random.Generator) -> list[np.ndarray]:
    """Weights with variance 2 / fan-in, biases zero."""
    first = rng.normal(0, (2 / 64) ** 0.5, (64, HIDDEN))
    last = rng.normal(0, (2 / HIDDEN) ** 0.5, (HIDDEN, 10))
    return [first, np.zeros(HIDDEN), last, np.zeros(10)]


def make_network(values: list[np.ndarray]) -> nn.Module:
    """A layer of the library, an activation, and the layer above."""
    w1, b1, w2, b2 = map(nn.Parameter, values)
    return nn.Sequential(nn.Linear(weight=w1, bias=b1), nn.SiLU(), LinearManual(w2, b2))


def iterate_losses(
    network: Callable[[fg.Tensor], fg.Tensor],
    parameters: list[fg.Tensor],
    images: np.ndarray,
    labels: np.ndarray,
    steps: int,
) -> list[float]:
    """The loss of each step of gradient descent with momentum."""
    optimizer = fg.optim.SGD(parameters, lr=RATE, momentum=0.9)
    found = []
    for step in range(steps):
        batch = np.arange(step * BATCH, (step + 1) * BATCH) % len(images)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(fg.tensor(images[batch])), labels[batch])
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def main() -> None:
    """Trains both networks, compares, draws."""
    options = support.parse_options("the digits network out of modules", steps=400)
    rng = np.random.default_rng(options.seed)
    digits = load_digits()
    order = rng.permutation(len(digits.data))
    images, labels = digits.data[order] / 16.0, digits.target[order]
    training, values = (images[:1400], labels[:1400], options.steps), draw_initial_values(rng)

    network = make_network(values)
    print(network)
    modules = iterate_losses(network, list(network.parameters()), *training)

    w1, b1, w2, b2 = plain = [fg.tensor(v, requires_grad=True) for v in values]
    operators = iterate_losses(lambda x: fg.silu(x @ w1 + b1) @ w2 + b2, plain, *training)

    with fg.no_grad():
        guesses = network(fg.tensor(images[1400:])).argmax(axis=1).numpy()
    print(f"final loss: {modules[-1]:.6f}")
    print(f"test accuracy: {100 * np.mean(guesses == labels[1400:]):.2f} %")
    print(f"largest difference from operators: {np.abs(np.subtract(modules, operators)).max():.1e}")

    figure, axes = plt.subplots(figsize=(6, 4))
    axes.semilogy(modules, lw=3, alpha=0.4, label="modules")
    axes.semilogy(operators, lw=0.8, color="black", label="operators")
    axes.set(xlabel="step", ylabel="cross-entropy", title="One network in two forms")
    axes.legend()
    support.save_figure(figure, options.out, "modules.png")


if __name__ == "__main__":
    main()
