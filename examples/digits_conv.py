"""A convolutional network on scikit-learn's handwritten digits.

What it shows: layers of `fg.nn`, a `DataLoader` that is resumed after any epoch, AdamW with a
cosine schedule, and a whole step as a compiled function.

    python examples/digits_conv.py --compile
    python examples/digits_conv.py --compare
"""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import training
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import ferrograd as fg
import support
from ferrograd import nn, optim
from ferrograd.nn import functional
from ferrograd.utils import data

BATCH, RATE, DECAY = 32, 3e-3, 1e-2
CHANNELS = (16, 32, 64)


def load_data() -> list[np.ndarray]:
    """Train and test images (N, 1, 8, 8) in [0, 1] and their labels; a fixed stratified split."""
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, None]
    return train_test_split(
        images, digits.target, test_size=0.25, stratify=digits.target, random_state=0
    )


def make_network(library) -> "nn.Sequential":
    """Three convolutions, two poolings and one linear layer, of `fg.nn` or of `torch.nn`."""
    layers, before = [], 1
    for i, channels in enumerate(CHANNELS):
        layers += [
            library.Conv2d(before, channels, 3, padding=1),
            library.BatchNorm2d(channels),
            library.ReLU(),
        ]
        if i:
            layers.append(library.MaxPool2d(2))
        before = channels
    return library.Sequential(*layers, library.Flatten(), library.Linear(4 * before, 10))


def shift_images(images: fg.Tensor) -> fg.Tensor:
    """The batch, moved by up to one pixel in both directions."""
    down, right = fg.randint(0, 3, (2,)).tolist()
    wide = functional.pad(images, (1, 1, 1, 1))
    return wide[:, :, down : down + 8, right : right + 8].contiguous()


def make_step(model: nn.Module, optimizer: optim.Optimizer):
    """One step of training; gives the loss."""

    def step(images: fg.Tensor, labels: fg.Tensor) -> fg.Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def iterate_epochs(step, loader, schedule) -> Iterator[training.Record]:
    """The mean loss of each epoch."""
    while True:
        losses = [step(shift_images(images), labels) for images, labels in loader]
        schedule.step()
        yield {"loss": float(np.mean(losses)), "rate": float(schedule.get_last_lr()[0])}


def compare_with_torch(model: nn.Module, step, images: np.ndarray, labels: np.ndarray) -> None:
    """Times a step beside that of the same network in PyTorch."""
    torch = training.import_torch()
    if torch is None:
        return
    other = make_network(torch.nn)
    other.load_state_dict(training.make_torch_state(torch, model))
    optimizer = torch.optim.AdamW(other.parameters(), lr=RATE, weight_decay=DECAY)
    x, y = torch.tensor(images), torch.tensor(labels)

    def torch_step() -> None:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(other(x), y)
        loss.backward()
        optimizer.step()
        loss.item()

    x_own, y_own = fg.tensor(images), fg.tensor(labels)
    training.compare_speed(lambda: step(x_own, y_own).item(), torch_step)


def plot_results(records, images, labels, guesses, folder) -> None:
    """The loss of each epoch, and the digits that were taken for others."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    left.plot([record["loss"] for record in records])
    left.set(xlabel="epoch", ylabel="cross-entropy", yscale="log", title="Training loss")
    wrong = np.flatnonzero(guesses != labels)[:8]
    right.axis("off")
    right.set_title(f"Mistakes: {np.sum(guesses != labels)} of {len(labels)}")
    for i, place in enumerate(wrong):
        axes = right.inset_axes([i % 4 / 4, 0.5 - i // 4 / 2, 0.23, 0.42])
        axes.imshow(images[place, 0], cmap="gray_r")
        axes.set_title(f"{guesses[place]} (is {labels[place]})", fontsize=8)
        axes.axis("off")
    support.save_figure(figure, folder, "digits_conv.png")


def main() -> None:
    """Trains, tests, draws; or races."""
    given = training.parse_options(
        "a convolutional network on handwritten digits", epochs=30, every=1
    )
    fg.set_default_dtype(np.float32)
    fg.manual_seed(given.seed)
    images, tests, labels, answers = load_data()
    model = make_network(nn)
    optimizer = optim.AdamW(model.parameters(), lr=fg.tensor(RATE), weight_decay=DECAY)
    step = given.compiled(make_step(model, optimizer))
    if given.compare:
        compare_with_torch(model, step, images[:BATCH], labels[:BATCH])
        return
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=given.epochs)
    loader = data.DataLoader(data.TensorDataset(images, labels), BATCH, shuffle=True)
    records = training.run_training(
        given,
        "digits_conv",
        iterate_epochs(step, loader, schedule),
        given.epochs,
        unit="epoch",
        model=model,
        optimizer=optimizer,
        schedule=schedule,
        loader=loader,
    )
    with fg.no_grad():
        guesses = model.eval()(fg.tensor(tests)).argmax(axis=1).numpy()
    print(f"final loss: {records[-1]['loss']:.9f}")
    print(f"test accuracy: {100 * np.mean(guesses == answers):.2f} %")
    plot_results(records, tests, answers, guesses, given.out)


if __name__ == "__main__":
    main()
