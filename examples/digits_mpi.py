"""Trains a network on scikit-learn's handwritten digits on several ranks.

What it shows: `DataParallel`, batches that are shared out over ranks, and a state that one rank
saves and any number of ranks resumes. The losses do not depend on the number of ranks. Rank 0 draws
them, with the digits that the network gets wrong.

    mpiexec -n 2 python examples/digits_mpi.py
    mpiexec -n 2 python examples/digits_mpi.py --compare
"""

import argparse
import contextlib
import socket
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import ferrograd as fg
import support
from ferrograd import distributed, nn, optim
from ferrograd.nn import functional
from ferrograd.utils import data

BATCH = 64


def make_network() -> nn.Module:
    """Two linear layers."""
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def make_torch_network(torch, model: nn.Module, rank: int, ranks: int):
    """The same network with the same weights in PyTorch, in its own data parallel on gloo."""
    import training

    other = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
    ).double()
    other.load_state_dict(training.make_torch_state(torch, model))
    if ranks == 1:
        return other
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = distributed.bcast(fg.tensor(free.getsockname()[1])).item()
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks
    )
    return torch.nn.parallel.DistributedDataParallel(other)


def compare_with_torch(images: np.ndarray, labels: np.ndarray) -> None:
    """Times a step of all ranks beside PyTorch's, on one thread for each rank."""
    import training

    torch = training.import_torch()
    if torch is None:
        return
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    fg.manual_seed(0)
    model = make_network()
    parallel, optimizer = distributed.DataParallel(model), optim.Adam(model.parameters(), lr=3e-3)
    other = make_torch_network(torch, model, rank, ranks)
    their_optimizer = torch.optim.Adam(other.parameters(), lr=3e-3)
    mine = slice(rank, BATCH, ranks)
    x, y = fg.tensor(images[:BATCH][mine]), fg.tensor(labels[:BATCH][mine])
    their_x, their_y = torch.tensor(x.numpy()), torch.tensor(y.numpy())

    def step() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(parallel(x), y).backward()
        optimizer.step()

    def torch_step() -> None:
        their_optimizer.zero_grad()
        torch.nn.functional.cross_entropy(other(their_x), their_y).backward()
        their_optimizer.step()

    with contextlib.redirect_stdout(None if rank else sys.stdout):
        training.compare_speed(step, torch_step)
    if ranks > 1:
        torch.distributed.destroy_process_group()


def plot_results(folder: Path, losses: list[float], tests: np.ndarray, guessed, answers) -> None:
    """The losses, and the first digits that are taken for others."""
    figure, (curve, *places) = plt.subplots(
        1, 7, figsize=(11, 2.6), gridspec_kw={"width_ratios": [4, 1, 1, 1, 1, 1, 1]}
    )
    curve.semilogy(losses)
    curve.set(xlabel="epoch", ylabel="loss of all ranks")
    for place in places:
        place.axis("off")
    wrong = np.flatnonzero(guessed != answers)
    for place, i in zip(places, wrong, strict=False):
        place.imshow(tests[i].reshape(8, 8), cmap="gray_r")
        place.set_title(f"{answers[i]}, not {guessed[i]}", fontsize=8)
    support.save_figure(figure, folder, "digits_mpi.png")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", type=Path, help="file to save to, and to resume from")
    parser.add_argument("--compare", action="store_true", help="time a step beside PyTorch's")


def train(given: argparse.Namespace, images: np.ndarray, labels: np.ndarray):
    """The network, and its loss in each epoch; saved after every epoch."""
    fg.manual_seed(given.seed)
    model = make_network()
    parallel = distributed.DataParallel(model)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    order = data.RandomSampler(images, generator=fg.Generator(given.seed))
    batches = distributed.DistributedBatchSampler(data.BatchSampler(order, BATCH, False))
    loader = data.DataLoader(data.TensorDataset(images, labels), batch_sampler=batches)
    parts = {"model": model, "optimizer": optimizer, "loader": loader}
    losses: list[float] = []
    if given.state and given.state.exists():
        losses = fg.load_state(given.state, **parts)["losses"]
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
        losses.append(distributed.allreduce(total, "mean").item() / len(loader))
        if distributed.get_rank() == 0:
            print(f"epoch {epoch}: loss {losses[-1]:.12f}", flush=True)
            if given.state:
                fg.save_state(given.state, losses=losses, **parts)
    return model, losses


def main() -> None:
    """Trains, tests and draws; or races."""
    given = support.parse_options("handwritten digits on MPI", extend=_add_options, epochs=15)
    digits = load_digits()
    images, tests, labels, answers = train_test_split(
        digits.data / 16.0, digits.target, test_size=0.25, stratify=digits.target, random_state=0
    )
    if given.compare:
        compare_with_torch(images, labels)
        return
    model, losses = train(given, images, labels)
    if distributed.get_rank() == 0:
        guessed = np.asarray(model(fg.tensor(tests)).detach()).argmax(axis=1)
        print(f"ranks: {distributed.get_world_size()}")
        print(f"test accuracy: {100 * np.mean(guessed == answers):.2f}")
        plot_results(given.out, losses, tests, guessed, answers)


if __name__ == "__main__":
    main()
