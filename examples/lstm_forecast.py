"""An LSTM that forecasts four channels of an electroencephalogram, which matplotlib ships.

What it shows: a recurrent layer of `fg.nn` on a series in float32, with its step compiled: Python
is out of the loop over time. The forecast of the next values is held against the last value seen.
Method: Hochreiter and Schmidhuber, Long Short-Term Memory, 1997.

    python examples/lstm_forecast.py --compile
    python examples/lstm_forecast.py --compile --compare
"""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import training
from matplotlib import cbook

import ferrograd as fg
import support
from ferrograd import nn, optim
from ferrograd.nn import functional

HIDDEN, BATCH, LENGTH = 32, 16, 50
RATE, DECAY, CLIP = 5e-3, 1.0, 1.0
HISTORY = 600  # the rows that are trained on; the others are forecast


def load_series() -> np.ndarray:
    """(800, 4) in units of the deviation of what is trained on."""
    with cbook.get_sample_data("eeg.dat") as file:
        series = np.frombuffer(file.read(), np.float64).reshape(800, 4)
    return ((series - series[:HISTORY].mean(0)) / series[:HISTORY].std(0)).astype(np.float32)


class Forecaster(nn.Module):
    """The change to the next row, from all rows before."""

    def __init__(self, channels: int) -> None:
        """One LSTM and a linear readout."""
        super().__init__()
        self.lstm = nn.LSTM(channels, HIDDEN, batch_first=True)
        self.readout = nn.Linear(HIDDEN, channels)

    def forward(self, rows):
        """(N, T, channels): for each row the next one."""
        return rows + self.readout(self.lstm(rows)[0])


def make_step(model: nn.Module, optimizer: optim.Optimizer):
    """One step of training; gives the mean squared error."""

    def step(rows: fg.Tensor, following: fg.Tensor) -> fg.Tensor:
        optimizer.zero_grad()
        loss = functional.mse_loss(model(rows), following)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        return loss.detach()

    return step


def draw_batch(series: fg.Tensor) -> tuple[fg.Tensor, fg.Tensor]:
    """Random pieces of what is trained on, and the same one row later."""
    starts = fg.randint(0, HISTORY - LENGTH - 1, (BATCH, 1))
    pieces = series[starts + fg.arange(LENGTH + 1)]
    return pieces[:, :-1].contiguous(), pieces[:, 1:].contiguous()


def iterate_steps(step, series: fg.Tensor, schedule) -> Iterator[training.Record]:
    """The loss of each step."""
    while True:
        loss = step(*draw_batch(series)).item()
        schedule.step()
        yield {"loss": loss}


def make_torch_network(torch, channels: int):
    """The same network in PyTorch."""

    class TorchForecaster(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(channels, HIDDEN, batch_first=True)
            self.readout = torch.nn.Linear(HIDDEN, channels)

        def forward(self, rows):
            return rows + self.readout(self.lstm(rows)[0])

    return TorchForecaster()


def compare_with_torch(model: Forecaster, step, series: fg.Tensor) -> None:
    """Times a step beside that of the same network in PyTorch."""
    torch = training.import_torch()
    if torch is None:
        return
    other = make_torch_network(torch, series.shape[1])
    other.load_state_dict(training.make_torch_state(torch, model))
    optimizer = torch.optim.AdamW(other.parameters(), lr=RATE, weight_decay=DECAY)
    rows, following = draw_batch(series)
    x, y = torch.tensor(rows.numpy()), torch.tensor(following.numpy())

    def torch_step() -> float:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(other(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(other.parameters(), CLIP)
        optimizer.step()
        return loss.item()

    training.compare_speed(lambda: step(rows, following).item(), torch_step)


def plot_forecast(series: np.ndarray, forecast: np.ndarray, losses: list[float], folder) -> None:
    """The loss, and the forecast of each channel over rows that were not trained on."""
    figure, grid = plt.subplots(5, 1, figsize=(8, 9))
    grid[0].plot(losses)
    grid[0].set(ylabel="loss", yscale="log", title="Training, then the forecast of each channel")
    for channel, axes in enumerate(grid[1:]):
        rows = np.arange(HISTORY + 1, len(series))
        axes.plot(rows, series[HISTORY + 1 :, channel], color="gray", label="measured")
        axes.plot(rows, forecast[HISTORY:-1, channel], lw=0.8, label="one row ahead")
    grid[1].legend(fontsize=8)
    support.save_figure(figure, folder, "lstm_forecast.png")


def main() -> None:
    """Trains, forecasts, draws; or races."""
    given = training.parse_options("an LSTM forecasts an electroencephalogram", steps=150, every=50)
    fg.set_default_dtype(np.float32)
    fg.manual_seed(given.seed)
    values = load_series()
    series = fg.tensor(values)
    model = Forecaster(values.shape[1])
    optimizer = optim.AdamW(model.parameters(), lr=fg.tensor(RATE), weight_decay=DECAY)
    step = given.compiled(make_step(model, optimizer))
    if given.compare:
        compare_with_torch(model, step, series)
        return
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=given.steps)
    records = training.run_training(
        given,
        "lstm_forecast",
        iterate_steps(step, series, schedule),
        given.steps,
        unit="step",
        model=model,
        optimizer=optimizer,
        schedule=schedule,
    )
    losses = [record["loss"] for record in records]
    with fg.no_grad():
        forecast = model(series[None])[0].numpy()
    wrong = np.mean((forecast[HISTORY:-1] - values[HISTORY + 1 :]) ** 2)
    still = np.mean(np.diff(values[HISTORY:], axis=0) ** 2)
    print(f"final loss: {np.mean(losses[-20:]):.9f}")
    print(f"squared error beside that of the last row: {wrong / still:.4f}")
    plot_forecast(values, forecast, losses, given.out)


if __name__ == "__main__":
    main()
