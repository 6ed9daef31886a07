"""Meta-learning: gradients through steps of gradient descent."""

from collections import OrderedDict

from library import STEPS, load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim
net = load(
    nn.Sequential(
        OrderedDict(
            [
                ("l1", nn.Linear(1, 8)),
                ("relu1", nn.ReLU()),
                ("l2", nn.Linear(8, 8)),
                ("relu2", nn.Softplus(beta=2)),
                ("l3", nn.Linear(8, 1)),
            ]
        )
    )
)

opt = optim.Adam(net.parameters(), 1e-2)
g = rng(23)
out = []


def call(params, x):
    return torch.func.functional_call(net, params, (x,))


for _s in range(STEPS):
    meta = 0
    for _task in range(3):
        A, ph = g.uniform(0.1, 5), g.uniform(0, 3)
        x = torch.tensor(g.uniform(-5, 5, (10, 1)))
        y = A * torch.sin(x + ph)
        params = dict(net.named_parameters())
        for _ in range(2):
            inner = F.mse_loss(call(params, x[:5]), y[:5])
            gr = torch.autograd.grad(inner, params.values(), create_graph=True)
            params = {n: p - 0.01 * gg for (n, p), gg in zip(params.items(), gr, strict=False)}
        meta = meta + F.mse_loss(call(params, x[5:]), y[5:])
    opt.zero_grad()
    (meta / 3).backward()
    opt.step()
    out.append(meta.item())
result = out
