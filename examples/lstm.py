"""A character LSTM on the descriptions that scikit-learn ships with its data sets.

What it shows: a recurrent network as a Python loop over time, hundreds of operations deep, with
clipped gradients and Adam, and text sampled from the result.
Method: Hochreiter and Schmidhuber, Long Short-Term Memory, 1997, with a forget gate.

    python examples/lstm.py --steps 400
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from tqdm import tqdm

import ferrograd as fg
import support
from ferrograd import nn

HIDDEN, BATCH, LENGTH, RATE, CLIP = 128, 24, 48, 4e-3, 1.0


def load_text() -> tuple[np.ndarray, str]:
    """The descriptions as indices into an alphabet, and the alphabet."""
    loaders = (load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine)
    text = "\n".join(load().DESCR for load in loaders)
    alphabet = "".join(sorted(set(text)))
    return np.array([alphabet.index(letter) for letter in text]), alphabet


class Lstm(nn.Module):
    """One layer of cells; every gate comes from one product."""

    def __init__(self, letters: int) -> None:
        """`letters`: size of the alphabet."""
        super().__init__()
        self.letters = letters
        self.gates = nn.Linear(letters + HIDDEN, 4 * HIDDEN)
        self.readout = nn.Linear(HIDDEN, letters)

    def start(self, batch: int) -> tuple[fg.Tensor, fg.Tensor]:
        """Output and cell before the first letter."""
        return fg.zeros(batch, HIDDEN), fg.zeros(batch, HIDDEN)

    def step(self, letter: np.ndarray, state):
        """Logits of the next letter, and the state after this one."""
        output, cell = state
        seen = fg.concatenate([fg.asarray(np.eye(self.letters)[letter]), output], axis=1)
        write, forget, show, new = fg.split(self.gates(seen), 4, axis=1)
        cell = fg.sigmoid(forget + 1.0) * cell + fg.sigmoid(write) * fg.tanh(new)
        output = fg.sigmoid(show) * fg.tanh(cell)
        return self.readout(output), (output, cell)

    def forward(self, text: np.ndarray) -> fg.Tensor:
        """Mean cross-entropy, in nats for each letter, of rows of text."""
        state, losses = self.start(len(text)), []
        for now, then in zip(text.T[:-1], text.T[1:], strict=True):
            logits, state = self.step(now, state)
            losses.append(fg.cross_entropy(logits, then))
        return fg.mean(fg.stack(losses))


def clip_gradients(parameters: list[fg.Tensor]) -> None:
    """Scales all gradients together so that their norm is at most CLIP."""
    norm = np.sqrt(sum(float(np.sum(p.grad.numpy() ** 2)) for p in parameters))
    if norm > CLIP:
        for parameter in parameters:
            parameter.grad = parameter.grad * (CLIP / norm)


def train(model: Lstm, text: np.ndarray, steps: int, rng) -> list[float]:
    """Adam on random pieces of the text; the loss of each step."""
    parameters = list(model.parameters())
    optimiser = fg.optim.Adam(parameters, lr=RATE)
    losses = []
    progress = tqdm(range(steps), desc="training", unit="step")
    for _ in progress:
        starts = rng.integers(0, len(text) - LENGTH - 1, BATCH)
        optimiser.zero_grad()
        loss = model(np.stack([text[i : i + LENGTH + 1] for i in starts]))
        loss.backward()
        clip_gradients(parameters)
        optimiser.step()
        losses.append(loss.item())
        progress.set_postfix(loss=f"{losses[-1]:.3f}")
    return losses


def sample(model: Lstm, alphabet: str, begin: str, count: int, rng) -> str:
    """`begin`, continued by `count` letters drawn from the model."""
    text, state = begin, model.start(1)
    with fg.no_grad():
        for i in range(len(begin) + count - 1):
            logits, state = model.step(np.array([alphabet.index(text[i])]), state)
            if i + 1 >= len(text):
                chances = fg.softmax(logits[0] / 0.7, axis=0).numpy()
                text += alphabet[rng.choice(len(alphabet), p=chances / chances.sum())]
    return text


def main() -> None:
    """Trains, samples, draws."""
    options = support.parse_options("character LSTM on the data sets' descriptions", steps=400)
    rng = np.random.default_rng(options.seed)
    fg.manual_seed(options.seed)
    text, alphabet = load_text()
    print(f"{len(text)} letters, {len(alphabet)} different ones")
    model = Lstm(len(alphabet))
    losses = train(model, text, options.steps, rng)
    print(f"loss at first: {losses[0]:.3f} nats for each letter")
    print(f"loss at last: {np.mean(losses[-10:]):.3f}")
    print("sample:", repr(sample(model, alphabet, "The ", 160, rng)))
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.plot(losses)
    axes.axhline(np.log(len(alphabet)), ls=":", color="gray", label="knowing nothing")
    axes.set(xlabel="step", ylabel="nats for each letter", title="Character LSTM")
    axes.legend()
    support.save_figure(figure, options.out, "lstm.png")


if __name__ == "__main__":
    main()
