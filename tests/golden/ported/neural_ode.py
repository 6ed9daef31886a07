"""A neural ODE: Runge-Kutta in the graph, and the adjoint method as a Function of its own."""

from library import STEPS, load, rng, torch

nn = torch.nn


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 2))

    def forward(self, t, y):
        return self.net(y**3) * torch.cos(t)


def rk4(func, y, t0, t1, steps):
    h = (t1 - t0) / steps
    t = t0
    for _ in range(steps):
        k1 = func(t, y)
        k2 = func(t + h / 2, y + h * k1 / 2)
        k3 = func(t + h / 2, y + h * k2 / 2)
        k4 = func(t + h, y + h * k3)
        y = y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
        t = t + h
    return y


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, t0, t1, *params):
        ctx.func = func
        with torch.no_grad():
            y1 = rk4(func, y0, t0, t1, 4)
        ctx.save_for_backward(y0, t0, t1, *params)
        return y1

    @staticmethod
    def backward(ctx, grad_y):
        y0, t0, t1, *params = ctx.saved_tensors
        with torch.enable_grad():
            y = y0.detach().requires_grad_(True)
            end = rk4(ctx.func, y, t0, t1, 4)
            gradients = torch.autograd.grad(end, (y, *params), grad_y, allow_unused=True)
        return (None, gradients[0], None, None, *gradients[1:])


func = load(ODEFunc())
optimizer = torch.optim.RMSprop(func.parameters(), lr=3e-3, centered=True)
numbers = rng(58)
y0 = torch.tensor(numbers.normal(size=(6, 2)))
true = torch.tensor(numbers.normal(size=(3, 6, 2)))
times = torch.linspace(0.0, 1.5, 4, dtype=torch.float64)


def main():
    out = []
    for step in range(STEPS):
        optimizer.zero_grad()
        y, ys = y0, []
        for a, b in zip(times[:-1], times[1:], strict=True):  # noqa: RUF007
            if step % 2:
                y = Adjoint.apply(func, y, a, b, *func.parameters())
            else:
                y = rk4(func, y, a, b, 4)
            ys.append(y)
        loss = torch.mean(torch.abs(torch.stack(ys) - true))
        loss.backward()
        optimizer.step()
        out += [loss.item(), func.net[0].weight.grad.norm().item()]
    return out


result = main()
