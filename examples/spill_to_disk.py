"""Keeps what the forward saves for the backward in files instead of memory.

Run it: `python examples/spill_to_disk.py [layers] [width]`. It runs a deep function twice, plainly
and with saved tensors spilled to a temporary folder, and shows that the gradients are equal and
what was in memory when the forward was over.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import ferrograd as fg
from ferrograd.autograd.graph import saved_tensors_hooks


class Spill:
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


def forward(x: fg.Tensor, layers: int) -> fg.Tensor:
    """A deep function that saves one tensor in each layer."""
    for _ in range(layers):
        x = (x * 1.1).sin()
    return x.sum()


def main(layers: int = 20, width: int = 50_000) -> None:
    """Runs both ways and prints what was held."""
    x = fg.linspace(0.0, 1.0, width).requires_grad_()
    start = fg.live_bytes()
    loss = forward(x, layers)
    plain = fg.live_bytes() - start
    loss.backward()
    expected, x.grad = x.grad.numpy().copy(), None
    del loss

    with tempfile.TemporaryDirectory() as folder:
        spill = Spill(Path(folder))
        start = fg.live_bytes()
        with saved_tensors_hooks(spill.pack, spill.unpack):
            loss = forward(x, layers)
        spilled = fg.live_bytes() - start
        loss.backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    print(f"plain: {plain >> 10} KiB held for the backward")
    print(f"spilled: {spilled >> 10} KiB and {spill.files} files; the gradients are equal")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
