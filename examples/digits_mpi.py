"""Trains a network on scikit-learn's handwritten digits on several ranks.

What it shows: `DataParallel`, batches that are shared out over ranks, and a state that one rank
saves and any number of ranks resumes. The losses do not depend on the number of ranks.

    mpiexec -n 2 python examples/digits_mpi.py
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import ferrograd as fg
from ferrograd import distributed, nn, optim
from ferrograd.nn import functional
from ferrograd.utils import data

BATCH = 64


def main() -> None:
    """Trains, saves after every epoch, and tests."""
    parser = argparse.ArgumentParser(description="handwritten digits on MPI")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--state", type=Path, help="file to save to, and to resume from")
    given = parser.parse_args()
    rank = distributed.get_rank()
    digits = load_digits()
    images, tests, labels, answers = train_test_split(
        digits.data / 16.0, digits.target, test_size=0.25, stratify=digits.target, random_state=0
    )
    fg.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    parallel = distributed.DataParallel(model)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    order = data.RandomSampler(images, generator=fg.Generator(0))
    batches = distributed.DistributedBatchSampler(data.BatchSampler(order, BATCH, False))
    loader = data.DataLoader(data.TensorDataset(images, labels), batch_sampler=batches)
    parts = {"model": model, "optimizer": optimizer, "loader": loader}
    if given.state and given.state.exists():
        fg.load_state(given.state, **parts)
    for epoch in range(loader.epoch, given.epochs):
        total = fg.zeros(())
        for x, y in loader:
            optimizer.zero_grad()
            weight = distributed.batch_weight(len(x))
            # A sum, and not a mean: a rank without samples has the loss 0.
            sums = functional.cross_entropy(parallel(x), y, reduction="sum")
            loss = sums * weight / max(len(x), 1)
            loss.backward()
            optimizer.step()
            total = total + loss.detach()
        mean = distributed.allreduce(total, "mean").item() / len(loader)
        if rank == 0:
            print(f"epoch {epoch}: loss {mean:.12f}")
            if given.state:
                fg.save_state(given.state, **parts)
    guessed = np.asarray(model(fg.tensor(tests)).detach()).argmax(axis=1)
    if rank == 0:
        print(f"ranks: {distributed.get_world_size()}")
        print(f"test accuracy: {100 * np.mean(guessed == answers):.2f}")


if __name__ == "__main__":
    main()
