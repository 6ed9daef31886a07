"""A physics-informed network: second derivatives in the loss, then LBFGS."""

import math
from collections import OrderedDict

from library import STEPS, load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim


class PINN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        mods = OrderedDict()
        for i in range(len(layers) - 1):
            mods[f"lin{i}"] = nn.Linear(layers[i], layers[i + 1])
            if i < len(layers) - 2:
                mods[f"act{i}"] = nn.Tanh()
        self.net = nn.Sequential(mods)
        self.nu = nn.Parameter(torch.tensor([0.01]))
        for m in self.net:
            if type(m) is nn.Linear:
                nn.init.xavier_normal_(m.weight.data)
                nn.init.zeros_(m.bias.data)

    def forward(self, t, x):
        return self.net(torch.hstack([t, x]))


m = load(PINN([2, 10, 10, 1]))
t = torch.tensor(rng(21).uniform(size=(20, 1)), requires_grad=True)
x = torch.tensor(rng(22).uniform(-1, 1, size=(20, 1)), requires_grad=True)
x0 = torch.linspace(-1, 1, 11).reshape(-1, 1)
t0 = torch.zeros_like(x0)
u0 = -torch.sin(math.pi * x0)
opt = optim.Adam(m.parameters(), lr=1e-3)
out = []


def residual():
    u = m(t, x)
    u_t = torch.autograd.grad(
        u, t, grad_outputs=torch.ones_like(u), retain_graph=True, create_graph=True
    )[0]
    u_x = torch.autograd.grad(
        u, x, grad_outputs=torch.ones_like(u), retain_graph=True, create_graph=True
    )[0]
    u_xx = torch.autograd.grad(
        u_x, x, grad_outputs=torch.ones_like(u_x), retain_graph=True, create_graph=True
    )[0]
    return u_t + u * u_x - m.nu * u_xx


for _s in range(STEPS):
    opt.zero_grad()
    loss = torch.mean(residual() ** 2) + torch.mean((m(t0, x0) - u0) ** 2)
    loss.backward()
    opt.step()
    out.append(loss.item())
opt = optim.LBFGS(
    m.parameters(),
    lr=1.0,
    max_iter=20,
    history_size=10,
    line_search_fn="strong_wolfe",
    tolerance_grad=1e-7,
)


def closure():
    opt.zero_grad()
    loss = torch.mean(residual() ** 2) + F.mse_loss(m(t0, x0), u0)
    loss.backward()
    out.append(loss.item())
    return loss


for _ in range(2):
    opt.step(closure)
result = out[: STEPS + 12]
