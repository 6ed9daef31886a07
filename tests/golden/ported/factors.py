"""Matrix factorisation: embeddings, bags of what was seen, negative samples, a loop of data."""

from library import load, rng, torch

nn, F = torch.nn, torch.nn.functional


class MF(nn.Module):
    def __init__(self, n_users, n_items, k=4):
        super().__init__()
        self.user = nn.Embedding(n_users, k, max_norm=1.5)
        self.item = nn.Embedding(n_items, k)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)
        self.seen = nn.EmbeddingBag(n_items, k, mode="mean")
        self.weighted = nn.EmbeddingBag(n_items, k, mode="sum", include_last_offset=True)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, u, i, seen, offsets, weights):
        bag = self.seen(seen, offsets[:-1]) + self.weighted(
            seen, offsets, per_sample_weights=weights
        )
        dot = ((self.user(u) + bag) * self.item(i)).sum(1)
        return dot + self.user_bias(u).squeeze() + self.item_bias(i).squeeze() + self.bias


numbers = rng(56)
users, items = numbers.integers(0, 8, 40), numbers.integers(0, 12, 40)
stars = numbers.integers(1, 6, 40) * 1.0


class Ratings(torch.utils.data.Dataset):
    def __len__(self):
        return len(stars)

    def __getitem__(self, index):
        return users[index], items[index], stars[index]


def collate(batch):
    u, i, r = zip(*batch, strict=True)
    bags = [list(items[users == user]) for user in u]
    sizes = [len(bag) for bag in bags]
    flat = torch.tensor([int(item) for bag in bags for item in bag])
    offsets = torch.tensor([0, *sizes]).cumsum(0)
    weights = torch.tensor([1.0 / size for size in sizes for _ in range(size)], dtype=torch.float64)
    u, i = (torch.tensor([int(n) for n in numbers_]) for numbers_ in (u, i))
    return u, i, flat, offsets, weights, torch.tensor([float(x) for x in r], dtype=torch.float64)


model = load(MF(8, 12))
loader = torch.utils.data.DataLoader(Ratings(), batch_size=16, collate_fn=collate)
decay, no_decay = [], []
for name, p in model.named_parameters():
    (no_decay if "bias" in name else decay).append(p)
optimizer = torch.optim.Adam(
    [{"params": decay, "weight_decay": 1e-3}, {"params": no_decay, "weight_decay": 0.0}], lr=0.02
)
out = []
for _epoch in range(7):
    total = 0.0
    for u, i, seen, offsets, weights, r in loader:
        prediction = model(u, i, seen, offsets, weights)
        loss = F.mse_loss(prediction, r) + F.huber_loss(prediction, r, delta=0.5)
        negative = torch.tensor(numbers.integers(0, 12, len(r)))
        worse = model(u, negative, seen, offsets, weights)
        loss = loss - F.logsigmoid(prediction - worse).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * r.size(0)
        out.append(loss.item())
    out.append(total / len(loader.dataset))
result = [*out, model.user.weight.norm(dim=1).max().item()]
