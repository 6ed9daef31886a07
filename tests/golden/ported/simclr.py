"""Contrastive learning: pairs of views, similarities without the diagonal, a running target."""

import copy

from library import STEPS, load, rng, torch

nn, F = torch.nn, torch.nn.functional


def nt_xent(z_i, z_j, temperature=0.5):
    n = z_i.shape[0]
    z = F.normalize(torch.cat([z_i, z_j], dim=0), dim=1)
    sim = torch.mm(z, z.t()) / temperature
    mask = torch.eye(2 * n, dtype=torch.bool)
    sim = sim.masked_fill(mask, -1e9)
    positives = torch.cat([torch.diag(sim, n), torch.diag(sim, -n)])
    return (-positives + torch.logsumexp(sim, dim=1)).mean()


def info_nce(z_i, z_j, temperature=0.2):
    logits = F.cosine_similarity(z_i.unsqueeze(1), z_j.unsqueeze(0), dim=-1) / temperature
    labels = torch.arange(z_i.size(0))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


encoder = nn.Sequential(
    nn.Conv1d(1, 4, 3, padding="same", padding_mode="circular"),
    nn.InstanceNorm1d(4, affine=True),
    nn.CELU(),
    nn.AvgPool1d(2, ceil_mode=True),
    nn.Flatten(),
)
projector = nn.Sequential(
    nn.Linear(20, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4)
)
online = load(nn.Sequential(encoder, projector))
predictor = load(nn.Linear(4, 4))
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adamax([*online.parameters(), *predictor.parameters()], lr=1e-2)
numbers = rng(61)
base = torch.tensor(numbers.normal(size=(6, 1, 9)))
out = []
for _ in range(STEPS):
    x_i, x_j = (base + 0.1 * torch.tensor(numbers.normal(size=(6, 1, 9))) for _ in range(2))
    x_j = torch.roll(torch.flip(x_j, [2]), 1, dims=2)
    z_i, z_j = online(x_i), online(x_j)
    with torch.no_grad():
        t_j = target(x_j)
    byol = 2 - 2 * (F.normalize(predictor(z_i), dim=-1) * F.normalize(t_j, dim=-1)).sum(dim=-1)
    loss = nt_xent(z_i, z_j) + info_nce(z_i, z_j) + byol.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for p, q in zip(online.parameters(), target.parameters(), strict=True):
            q.data.mul_(0.9).add_((1 - 0.9) * p.detach().data)
    out.append(loss.item())
result = [*out, target[1][1].running_mean.sum().item()]
