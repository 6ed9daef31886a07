"""Attention over a graph, sums over edges."""

import numpy as np
from library import STEPS, load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.W = nn.Parameter(torch.empty(size=(5, 6)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(12, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.lin = nn.Linear(6, 3)

    def forward(self, h, adj, src, dst):
        Wh = torch.mm(h, self.W)
        e = F.leaky_relu(torch.matmul(Wh, self.a[:6, :]) + torch.matmul(Wh, self.a[6:, :]).T, 0.2)
        zero = -9e15 * torch.ones_like(e)
        att = F.softmax(torch.where(adj > 0, e, zero), dim=1)
        h = F.elu(torch.matmul(att, Wh))
        agg = torch.zeros_like(h).index_add_(0, dst, h[src])
        agg = agg + torch.zeros_like(h).scatter_add(
            0, dst.unsqueeze(1).expand(-1, h.size(1)), h[src]
        )
        deg = torch.bincount(dst, minlength=h.size(0)).clamp(min=1).to(h.dtype)
        return F.log_softmax(self.lin(agg / deg.unsqueeze(-1)), dim=1)


m = load(GAT())
opt = optim.Adam(m.parameters(), lr=0.05, weight_decay=5e-4)
g = rng(37)
h = torch.tensor(g.normal(size=(8, 5)))
adj = torch.tensor((g.uniform(size=(8, 8)) > 0.5).astype(np.float64)) + torch.eye(8)
src, dst = adj.nonzero(as_tuple=True)
y = torch.tensor(g.integers(0, 3, 8))
idx = torch.tensor([0, 2, 3, 5])
out = []
for _s in range(STEPS):
    o = m(h, adj, src, dst)
    loss = F.nll_loss(o[idx], y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    out.append(loss.item())
result = out
