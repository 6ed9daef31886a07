"""A language model of characters: states cut between batches, projections."""

import math

from library import STEPS, load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(9, 6)
        self.r = nn.LSTM(6, 7, 2, dropout=0.0)
        self.d = nn.Linear(7, 9)
        self.r2 = nn.LSTM(7, 5, proj_size=3, bidirectional=True)
        self.ln = nn.LayerNorm(6)

    def forward(self, x, h):
        o, h = self.r(self.e(x), h)
        o2, _ = self.r2(o)
        return self.d(o).view(-1, 9) + self.ln(o2).mean(), h


m = load(M())
opt = optim.SGD(m.parameters(), lr=1.0)
sch = optim.lr_scheduler.ExponentialLR(opt, 0.95)
g = rng(40)
data = torch.tensor(g.integers(0, 9, (STEPS * 5 + 1, 4)), dtype=torch.long)
h = (torch.zeros(2, 4, 7), torch.zeros(2, 4, 7))
out = []
for s in range(STEPS):
    h = tuple(v.detach() for v in h)
    x, y = data[s * 5 : s * 5 + 5], data[s * 5 + 1 : s * 5 + 6].reshape(-1)
    m.zero_grad()
    o, h = m(x, h)
    loss = F.nll_loss(F.log_softmax(o, dim=1), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(m.parameters(), 0.25, norm_type=float("inf"))
    opt.step()
    sch.step()
    out += [loss.item(), math.exp(loss.item())]
result = out + [g["lr"] for g in opt.param_groups]
