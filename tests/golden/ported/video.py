"""Volumes: convolutions of three axes and their adjoints, a cell over time, averaged descent."""

from library import STEPS, load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv3d(1, 4, (2, 3, 3), padding=(0, 1, 1))
        self.b = nn.BatchNorm3d(4)
        self.p = nn.MaxPool3d((1, 2, 2))
        self.t = nn.ConvTranspose3d(4, 1, 2, stride=2)
        self.g = nn.GRUCell(4, 5)
        self.h = nn.Linear(5, 1)
        self.ap = nn.AdaptiveAvgPool3d((None, 1, 1))
        self.dw = nn.Conv1d(5, 5, 3, groups=5, padding=1)

    def forward(self, x):
        z = self.p(F.silu(self.b(self.c(x))))
        rec = self.t(z)
        f = self.ap(z).flatten(2).permute(2, 0, 1)
        h = torch.zeros(x.size(0), 5)
        hs = []
        for ft in torch.unbind(f, 0):
            h = self.g(ft, h)
            hs.append(h)
        hs = self.dw(torch.stack(hs, dim=-1))
        return rec, self.h(hs.mean(-1))


m = load(M())
opt = optim.ASGD(m.parameters(), lr=1e-2, t0=5)
g = rng(47)
x = torch.tensor(g.normal(size=(2, 1, 4, 6, 6)))
y = torch.tensor(g.normal(size=(2, 1)))
out = []
sch = optim.lr_scheduler.PolynomialLR(opt, total_iters=10, power=2.0)
for _s in range(STEPS):
    rec, p = m(x)
    tgt = F.interpolate(x, size=rec.shape[2:], mode="trilinear")
    loss = (
        F.mse_loss(p, y) + (rec - tgt).abs().mean() + F.gaussian_nll_loss(p, y, torch.ones_like(p))
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
    sch.step()
    out.append(loss.item())
result = out
