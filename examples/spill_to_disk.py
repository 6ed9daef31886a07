"""Keeps what the forward saves for the backward in files instead of memory.

What it shows: `saved_tensors_hooks`. A deep function runs twice, plainly and with saved tensors
spilled to a temporary folder; the gradients are equal, and the picture shows what was in memory
after each layer.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import ferrograd as fg
import support
from ferrograd.autograd.graph import saved_tensors_hooks


class DiskStorage:
    """Writes each saved tensor of at least `least` bytes to a file of its own in `folder`."""

    def __init__(self, folder: Path, least: int = 1 << 12) -> None:
        self.folder = folder
        self.least = least
        self.files = 0

    def pack(self, tensor: fg.Tensor) -> fg.Tensor | Path:
        """The file that holds the tensor now, or a small tensor itself."""
        if tensor.nbytes < self.least:
            return tensor
        path = self.folder / f"{self.files}.npy"
        self.files += 1
        np.save(path, tensor.numpy())
        return path

    def unpack(self, packed: fg.Tensor | Path) -> fg.Tensor | np.ndarray:
        """What was packed."""
        return np.load(packed) if isinstance(packed, Path) else packed


def run_forward(x: fg.Tensor, layers: int) -> tuple[fg.Tensor, list[int]]:
    """A deep function that saves one tensor in each layer, and the bytes held after each."""
    start = fg.live_bytes()
    held = [0]
    for _ in range(layers):
        x = (x * 1.1).sin()
        held.append(fg.live_bytes() - start)
    return x.sum(), held


def compute_gradient(x: fg.Tensor, loss: fg.Tensor) -> np.ndarray:
    """The gradient of the loss, which is not left in `x`."""
    return fg.autograd.grad(loss, x)[0].numpy()


def main() -> None:
    """Runs both ways, prints and draws what was held."""
    options = support.parse_options("saved tensors in files", layers=20, width=50_000)
    fg.manual_seed(options.seed)
    x = fg.rand(options.width, requires_grad=True)
    start = fg.live_bytes()
    loss, plain_held = run_forward(x, options.layers)
    plain = fg.live_bytes() - start
    expected = compute_gradient(x, loss)
    del loss

    with tempfile.TemporaryDirectory() as folder:
        spill = DiskStorage(Path(folder))
        start = fg.live_bytes()
        with saved_tensors_hooks(spill.pack, spill.unpack):
            loss, spilled_held = run_forward(x, options.layers)
        spilled = fg.live_bytes() - start
        np.testing.assert_array_equal(compute_gradient(x, loss), expected)
    print(f"plain: {plain >> 10} KiB held for the backward")
    print(f"spilled: {spilled >> 10} KiB and {spill.files} files; the gradients are equal")

    figure, axes = plt.subplots(figsize=(7, 4))
    for label, held in (("plain", plain_held), ("spilled", spilled_held)):
        axes.plot(np.array(held) / 1024, label=label)
    axes.set(xlabel="layers", ylabel="KiB held", title="Memory during the forward")
    axes.legend()
    support.save_figure(figure, options.out, "spill_to_disk.png")


if __name__ == "__main__":
    main()
