"""A normalising flow: couplings, a determinant, inversion."""

import math

from library import STEPS, load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim


class AffineCoupling(nn.Module):
    def __init__(self, dim, hid, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, hid), nn.Tanh(), nn.Linear(hid, dim))
        self.register_buffer("mask", torch.arange(dim) % 2)

    def forward(self, x):
        x1, x2 = x.chunk(2, dim=-1)
        if self.flip:
            x1, x2 = x2, x1
        s, t = self.net(x1).chunk(2, -1)
        s = 2 * torch.tanh(s / 2)
        y2 = x2 * s.exp() + t
        out = torch.cat([x1, y2] if not self.flip else [y2, x1], -1)
        return out, s.sum(-1)

    def inverse(self, y):
        y1, y2 = y.chunk(2, dim=-1)
        if self.flip:
            y1, y2 = y2, y1
        s, t = self.net(y1).chunk(2, -1)
        s = 2 * torch.tanh(s / 2)
        x2 = (y2 - t) * (-s).exp()
        return torch.cat([y1, x2] if not self.flip else [x2, y1], -1)


class Invertible1x1(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.W = nn.Parameter(torch.linalg.qr(torch.randn(d, d))[0])

    def forward(self, x):
        return x @ self.W.T, torch.linalg.slogdet(self.W)[1].expand(x.shape[0])


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            [AffineCoupling(4, 8, i % 2 == 0) for i in range(3)] + [Invertible1x1(4)]
        )
        self.loc = nn.Parameter(torch.zeros(4), requires_grad=False)

    def forward(self, x):
        ld = torch.zeros(x.shape[0], device=x.device)
        for layer in self.layers:
            x, d = layer(x)
            ld += d
        return x, ld


m = load(Flow())
opt = optim.Adam(filter(lambda p: p.requires_grad, m.parameters()), lr=1e-2)
x = torch.tensor(rng(20).normal(size=(32, 4)) * [1, 2, 0.5, 1.5])
out = []
for _s in range(STEPS):
    z, ld = m(x)
    lp = -0.5 * (z**2 + math.log(2 * math.pi)).sum(-1)
    loss = -(lp + ld).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    out.append(loss.item())
with torch.no_grad():
    z, _ = m.layers[0](x)
    out.append(torch.allclose(m.layers[0].inverse(z), x))
out.append(sum(p.numel() for p in m.parameters() if p.requires_grad))
result = out
