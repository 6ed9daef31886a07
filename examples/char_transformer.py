"""A character transformer on the help texts that Python ships (`help("topics")`).

What it shows: rotary positions, causal attention and RMS norms, each one operation; AdamW with a
cosine schedule, whose rate is a tensor, so that a compiled step is recorded once.
Method: Vaswani et al., Attention Is All You Need, 2017; Su et al., RoFormer, arXiv:2104.09864;
Zhang and Sennrich, Root Mean Square Layer Normalization, arXiv:1910.07467.

    python examples/char_transformer.py --compile
    python examples/char_transformer.py --compile --compare
"""

import pydoc_data.topics
from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import training

import ferrograd as fg
import support
from ferrograd import nn, optim
from ferrograd.nn import functional

WIDTH, HEADS, DEPTH, LENGTH, BATCH = 96, 4, 3, 96, 12
RATE, DECAY = 3e-3, 0.1


def load_text() -> tuple[np.ndarray, str]:
    """The texts as indices into an alphabet, and the alphabet."""
    topics = pydoc_data.topics.topics
    text = "\n".join(topics[name] for name in sorted(topics))
    alphabet = "".join(sorted(set(text)))
    places = {letter: i for i, letter in enumerate(alphabet)}
    return np.array([places[letter] for letter in text]), alphabet


class Block(nn.Module):
    """Attention, then a network for each position; each reads a norm and is added."""

    def __init__(self) -> None:
        """Weights without biases."""
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        """(N, T, width) to the same."""
        n, length, _ = x.shape
        heads = self.qkv(self.norm1(x)).reshape((n, length, 3, HEADS, WIDTH // HEADS))
        q, k, v = heads.permute((2, 0, 3, 1, 4))
        seen = functional.scaled_dot_product_attention(
            functional.rope(q), functional.rope(k), v, is_causal=True
        )
        x = x + self.out(seen.permute((0, 2, 1, 3)).reshape((n, length, WIDTH)))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """Letters to the logits of the next ones."""

    def __init__(self, letters: int) -> None:
        """`letters`: size of the alphabet."""
        super().__init__()
        self.embedding = nn.Embedding(letters, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(DEPTH)))
        self.norm = nn.RMSNorm(WIDTH)
        self.readout = nn.Linear(WIDTH, letters, bias=False)
        nn.init.normal_(self.embedding.weight, std=0.1)

    def forward(self, letters):
        """(N, T) to (N, T, alphabet)."""
        return self.readout(self.norm(self.blocks(self.embedding(letters))))


def make_step(model: nn.Module, optimizer: optim.Optimizer):
    """One step of training; gives the loss, in nats for each letter."""

    def step(letters: fg.Tensor, following: fg.Tensor) -> fg.Tensor:
        optimizer.zero_grad()
        logits = model(letters)
        loss = functional.cross_entropy(logits.reshape((-1, logits.shape[-1])), following)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def draw_batch(text: fg.Tensor) -> tuple[fg.Tensor, fg.Tensor]:
    """Random pieces of the text, and what follows each of their letters."""
    starts = fg.randint(0, len(text) - LENGTH - 1, (BATCH, 1))
    pieces = text[starts + fg.arange(LENGTH + 1)]
    return pieces[:, :-1].contiguous(), pieces[:, 1:].reshape(-1)


def iterate_steps(step, text: fg.Tensor, schedule) -> Iterator[training.Record]:
    """The loss of each step."""
    while True:
        loss = step(*draw_batch(text)).item()
        schedule.step()
        yield {"loss": loss}


def make_torch_network(torch, letters: int):
    """The same network in PyTorch, which has no function for rotary positions."""
    functions = torch.nn.functional
    angles = torch.arange(LENGTH)[:, None] / 10000.0 ** (
        torch.arange(0, WIDTH // HEADS, 2) / (WIDTH // HEADS)
    )
    cos, sin = angles.cos(), angles.sin()

    def rope(x):
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)

    class TorchBlock(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = torch.nn.RMSNorm(WIDTH), torch.nn.RMSNorm(WIDTH)
            self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
            self.out = torch.nn.Linear(WIDTH, WIDTH, bias=False)
            self.up = torch.nn.Linear(WIDTH, 4 * WIDTH, bias=False)
            self.down = torch.nn.Linear(4 * WIDTH, WIDTH, bias=False)

        def forward(self, x):
            n, length, _ = x.shape
            heads = self.qkv(self.norm1(x)).reshape(n, length, 3, HEADS, WIDTH // HEADS)
            q, k, v = heads.permute(2, 0, 3, 1, 4)
            seen = functions.scaled_dot_product_attention(rope(q), rope(k), v, is_causal=True)
            x = x + self.out(seen.permute(0, 2, 1, 3).reshape(n, length, WIDTH))
            return x + self.down(functions.gelu(self.up(self.norm2(x))))

    class TorchTransformer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(letters, WIDTH)
            self.blocks = torch.nn.Sequential(*(TorchBlock() for _ in range(DEPTH)))
            self.norm = torch.nn.RMSNorm(WIDTH)
            self.readout = torch.nn.Linear(WIDTH, letters, bias=False)

        def forward(self, given):
            return self.readout(self.norm(self.blocks(self.embedding(given))))

    return TorchTransformer()


def compare_with_torch(model: Transformer, step, text: fg.Tensor, letters: int) -> None:
    """Times a step beside that of the same network in PyTorch, after equal losses."""
    torch = training.import_torch()
    if torch is None:
        return
    other = make_torch_network(torch, letters)
    other.load_state_dict(training.make_torch_state(torch, model))
    optimizer = torch.optim.AdamW(other.parameters(), lr=RATE, weight_decay=DECAY)
    given, following = draw_batch(text)
    x, y = torch.tensor(given.numpy()), torch.tensor(following.numpy())

    def torch_step() -> float:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(other(x).reshape(-1, letters), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    training.compare_speed(lambda: step(given, following).item(), torch_step)


def sample(model: Transformer, alphabet: str, begin: str, count: int, rng) -> str:
    """`begin`, continued by `count` letters drawn from the model."""
    text = [alphabet.index(letter) for letter in begin]
    with fg.no_grad():
        for _ in range(count):
            logits = model(fg.tensor([text[-LENGTH:]]))[0, -1]
            chances = fg.softmax(logits.astype(np.float64) / 0.7, axis=0).numpy()
            text.append(int(rng.choice(len(alphabet), p=chances / chances.sum())))
    return "".join(alphabet[i] for i in text)


def main() -> None:
    """Trains, samples, draws; or races."""
    given = training.parse_options(
        "a character transformer on Python's help texts", steps=400, every=50
    )
    fg.set_default_dtype(np.float32)
    fg.manual_seed(given.seed)
    places, alphabet = load_text()
    text = fg.tensor(places)
    model = Transformer(len(alphabet))
    optimizer = optim.AdamW(
        model.parameters(), lr=fg.tensor(RATE), betas=(0.9, 0.95), weight_decay=DECAY
    )
    step = given.compiled(make_step(model, optimizer))
    print(f"{len(places)} letters, {len(alphabet)} different ones")
    if given.compare:
        compare_with_torch(model, step, text, len(alphabet))
        return
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=given.steps)
    records = training.run_training(
        given,
        "char_transformer",
        iterate_steps(step, text, schedule),
        given.steps,
        unit="step",
        model=model,
        optimizer=optimizer,
        schedule=schedule,
    )
    losses = [record["loss"] for record in records]
    rng = np.random.default_rng(given.seed)
    print(f"loss at first: {losses[0]:.6f} nats for each letter")
    print(f"loss at last: {np.mean(losses[-20:]):.6f}")
    print("sample:", repr(sample(model, alphabet, "The ", 160, rng)))
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.plot(losses)
    axes.axhline(np.log(len(alphabet)), ls=":", color="gray", label="knowing nothing")
    axes.set(xlabel="step", ylabel="nats for each letter", title="Character transformer")
    axes.legend()
    support.save_figure(figure, given.out, "char_transformer.png")


if __name__ == "__main__":
    main()
