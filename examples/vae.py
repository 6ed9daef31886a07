"""A variational autoencoder on scikit-learn's handwritten digits.

What it shows: `fg.nn` modules, an optimiser, random numbers inside the graph (the
reparameterisation z = μ + σ ε), and a picture of digits the network makes up.
Method: Kingma and Welling, Auto-Encoding Variational Bayes, 2013.

    python examples/vae.py --epochs 40
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import ferrograd as fg
import support
from ferrograd import nn

LATENT, HIDDEN, BATCH, RATE = 8, 128, 64, 2e-3


class Autoencoder(nn.Module):
    """Pixels to a Gaussian over the latent space, and back to one logit for each pixel."""

    def __init__(self) -> None:
        """Two networks with one hidden layer each."""
        super().__init__()
        self.encoder = nn.MLP(64, HIDDEN, 2 * LATENT)
        self.decoder = nn.MLP(LATENT, HIDDEN, 64)

    def forward(self, images, noise):
        """The negative evidence lower bound, in nats for each image."""
        mean, log_deviation = fg.split(self.encoder(images), 2, axis=1)
        latent = mean + fg.exp(log_deviation) * noise
        logits = self.decoder(latent)
        missing = fg.sum(fg.softplus(logits) - images * logits, axis=1)
        distance = 0.5 * fg.sum(mean**2 + fg.exp(2 * log_deviation) - 1 - 2 * log_deviation, axis=1)
        return fg.mean(missing + distance)


def train(model: Autoencoder, images: np.ndarray, epochs: int, rng) -> list[float]:
    """Adam over shuffled batches; the mean loss of each epoch."""
    optimiser = fg.optim.Adam(model.parameters(), lr=RATE)
    history = []
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for _ in progress:
        losses = []
        for batch in np.array_split(rng.permutation(len(images)), len(images) // BATCH):
            optimiser.zero_grad()
            loss = model(images[batch], rng.normal(size=(len(batch), LATENT)))
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        history.append(float(np.mean(losses)))
        progress.set_postfix(loss=f"{history[-1]:.2f}")
    return history


def plot_digits(model: Autoencoder, images: np.ndarray, rng, path) -> None:
    """Real digits, their reconstructions, and digits from random latent points."""
    with fg.no_grad():
        mean = model.encoder(images[:10])[:, :LATENT]
        copies = fg.sigmoid(model.decoder(mean)).numpy()
        dreams = fg.sigmoid(model.decoder(rng.normal(size=(10, LATENT)))).numpy()
    figure, grid = plt.subplots(3, 10, figsize=(10, 3.4))
    for row, (name, batch) in enumerate(
        [("real", images[:10]), ("decoded", copies), ("made up", dreams)]
    ):
        grid[row, 0].set_title(name, loc="left", fontsize=9)
        for axes, image in zip(grid[row], batch, strict=True):
            axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
            axes.axis("off")
    support.save_figure(figure, path, "vae.png")


def main() -> None:
    """Trains, measures on images it has not seen, draws."""
    options = support.parse_options("variational autoencoder on digits", epochs=40)
    rng = np.random.default_rng(options.seed)
    fg.manual_seed(options.seed)
    images = load_digits().data / 16.0
    held_out = rng.permutation(len(images))
    train_images, test_images = images[held_out[300:]], images[held_out[:300]]
    model = Autoencoder()
    history = train(model, train_images, options.epochs, rng)
    with fg.no_grad():
        bound = model(test_images, rng.normal(size=(300, LATENT))).item()
    print(f"first epoch: {history[0]:.2f} nats, last epoch: {history[-1]:.2f} nats")
    print(f"test bound: {bound:.2f} nats for each image")
    plot_digits(model, test_images, rng, options.out)


if __name__ == "__main__":
    main()
