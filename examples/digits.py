"""Trains a two-layer network on scikit-learn's handwritten digits, with an activation of our own.

What it shows: a custom operation as a Python class, its gradient checked before it is trusted,
mini-batch training with plain tensors, and three pictures of the result in `examples/out/`.
The data are 1 797 real 8x8 images that scikit-learn ships. The same seed gives the same numbers at
any number of threads.

    python examples/digits.py --seed 0 --threads 2
"""

import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import ferrograd as fg
import support

HIDDEN, BATCH, EPOCHS = 128, 32, 60
RATE, MOMENTUM, DECAY, NOISE = 0.2, 0.9, 5e-4, 0.2


class Swish(fg.Function):
    """x · sigmoid(x), its derivative written by hand."""

    @staticmethod
    def forward(ctx, x):
        """Keeps x, from which backward recomputes the sigmoid."""
        ctx.save_for_backward(x)
        return x * fg.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        """d(x·s)/dx = s + x·s·(1 − s), times the incoming gradient."""
        (x,) = ctx.saved_tensors
        s = fg.sigmoid(x)
        return g * (s + x * s * (1 - s))


def check_activation(rng: np.random.Generator) -> None:
    """Compares Swish's gradient with finite differences; raises where they differ."""
    x = fg.tensor(rng.normal(size=(3, 4)), requires_grad=True)
    fg.gradcheck(Swish.apply, (x,))
    print("Swish: the gradient agrees with finite differences")


def load_data() -> list[np.ndarray]:
    """Train and test images in [0, 1], and their labels; a fixed stratified split."""
    digits = load_digits()
    images, labels = digits.data / 16.0, digits.target.astype(np.int64)
    return train_test_split(images, labels, test_size=0.25, stratify=labels, random_state=0)


def draw_initial_parameters(rng: np.random.Generator) -> list[fg.Tensor]:
    """Weights with variance 2 / fan-in, biases zero."""

    def draw_weight(rows: int, columns: int) -> fg.Tensor:
        return fg.tensor(rng.normal(0, (2 / rows) ** 0.5, (rows, columns)), requires_grad=True)

    return [
        draw_weight(64, HIDDEN),
        fg.zeros(HIDDEN, requires_grad=True),
        draw_weight(HIDDEN, 10),
        fg.zeros(10, requires_grad=True),
    ]


def compute_logits(images: np.ndarray, parameters: list[fg.Tensor]) -> fg.Tensor:
    """One logit for each of the ten digits."""
    w1, b1, w2, b2 = parameters
    return Swish.apply(images @ w1 + b1) @ w2 + b2


def train(images: np.ndarray, labels: np.ndarray, epochs: int, rng: np.random.Generator):
    """Gradient descent with momentum, on noisy images; returns parameters and each batch's loss."""
    parameters = draw_initial_parameters(rng)
    velocity = [fg.zeros(p.shape) for p in parameters]
    losses: list[float] = []
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for epoch in progress:
        rate = RATE * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
        for batch in np.array_split(rng.permutation(len(images)), len(images) // BATCH):
            noisy = images[batch] + rng.normal(0, NOISE, (len(batch), 64))
            loss = fg.cross_entropy(compute_logits(noisy, parameters), labels[batch])
            loss.backward()
            losses.append(loss.item())
            with fg.no_grad():
                velocity = [
                    MOMENTUM * v + p.grad + DECAY * p
                    for v, p in zip(velocity, parameters, strict=True)
                ]
                parameters = [
                    (p - rate * v).requires_grad_()
                    for p, v in zip(parameters, velocity, strict=True)
                ]
        progress.set_postfix(loss=f"{losses[-1]:.4f}")
    return parameters, losses


def predict(images: np.ndarray, parameters: list[fg.Tensor]) -> np.ndarray:
    """The most likely digit of each image."""
    with fg.no_grad():
        return compute_logits(images, parameters).argmax(axis=1).numpy()


def plot_loss(losses: list[float], folder: Path) -> None:
    """The loss of every batch and its running mean."""
    figure, axes = plt.subplots(figsize=(6, 4))
    window = max(1, len(losses) // 30)
    mean = np.convolve(losses, np.ones(window) / window, mode="valid")
    axes.plot(losses, alpha=0.3, label="each batch")
    axes.plot(np.arange(window - 1, len(losses)), mean, label=f"mean of {window} batches")
    axes.set(xlabel="step", ylabel="cross-entropy", yscale="log", title="Training loss")
    axes.legend()
    support.save_figure(figure, folder, "loss.png")


def plot_confusion(labels: np.ndarray, guesses: np.ndarray, folder: Path) -> None:
    """How often each digit was taken for each other one."""
    counts = np.zeros((10, 10), dtype=int)
    np.add.at(counts, (labels, guesses), 1)
    figure, axes = plt.subplots(figsize=(5, 5))
    axes.imshow(counts, cmap="Blues", norm="symlog")
    for (row, column), count in np.ndenumerate(counts):
        colour = "white" if count > counts.max() / 4 else "black"
        axes.text(column, row, count or "", ha="center", va="center", color=colour)
    axes.set(xlabel="predicted", ylabel="true", xticks=range(10), yticks=range(10))
    axes.set_title("Confusion on the test images")
    support.save_figure(figure, folder, "confusion.png")


def plot_digits(images, labels, guesses, folder: Path) -> None:
    """Some test digits with their predictions, mistakes first and in red."""
    order = np.argsort(guesses == labels, kind="stable")[:24]
    figure, grid = plt.subplots(3, 8, figsize=(9, 4))
    for axes, i in zip(grid.flat, order, strict=True):
        right = guesses[i] == labels[i]
        axes.imshow(images[i].reshape(8, 8), cmap="gray_r")
        title = f"{guesses[i]}" if right else f"{guesses[i]} (is {labels[i]})"
        axes.set_title(title, fontsize=9, color="black" if right else "red")
        axes.axis("off")
    figure.suptitle("Predictions on test images, mistakes first")
    support.save_figure(figure, folder, "predictions.png")


def main() -> None:
    """Checks, trains, measures, draws."""
    options = support.parse_options(
        "train a network on handwritten digits", threads=fg.get_num_threads(), epochs=EPOCHS
    )
    fg.set_num_threads(options.threads)
    rng = np.random.default_rng(options.seed)
    begin = time.perf_counter()

    check_activation(rng)
    images, test_images, labels, test_labels = load_data()
    print(f"{len(images)} images to train on, {len(test_images)} to test on")
    parameters, losses = train(images, labels, options.epochs, rng)
    guesses = predict(test_images, parameters)
    accuracy = float(np.mean(guesses == test_labels))
    print(f"final loss: {np.mean(losses[-20:]):.6f}")
    print(f"test accuracy: {100 * accuracy:.2f} %")

    plot_loss(losses, options.out)
    plot_confusion(test_labels, guesses, options.out)
    plot_digits(test_images, test_labels, guesses, options.out)
    print(f"took {time.perf_counter() - begin:.1f} s with {fg.get_num_threads()} threads")


if __name__ == "__main__":
    main()
