"""A diffusion model with attention, averaged weights and sampling."""

import math

from library import STEPS, load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim
T = 50
betas = torch.linspace(1e-4, 0.02, T)
alphas = 1.0 - betas
acp = torch.cumprod(alphas, axis=0)
acp_prev = F.pad(acp[:-1], (1, 0), value=1.0)
s_acp, s_1m = torch.sqrt(acp), torch.sqrt(1.0 - acp)
post_var = betas * (1.0 - acp_prev) / (1.0 - acp)


def extract(a, t, shape):
    b = t.shape[0]
    o = a.gather(-1, t.cpu())
    return o.reshape(b, *((1,) * (len(shape) - 1))).to(t.device)


class SinPos(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        half = self.dim // 2
        e = math.log(10000) / (half - 1)
        e = torch.exp(torch.arange(half, device=time.device) * -e)
        e = time[:, None] * e[None, :]
        return torch.cat((e.sin(), e.cos()), dim=-1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(SinPos(8), nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 16))
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.n1 = nn.GroupNorm(4, 8)
        self.act = nn.SiLU()
        self.tp = nn.Linear(16, 8)
        self.att = nn.MultiheadAttention(8, 2, batch_first=True)
        self.c2 = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x, t):
        h = self.act(self.n1(self.c1(x)))
        h = h + self.tp(self.time(t))[(...,) + (None,) * 2]
        B, C, H, W = h.shape
        f = h.flatten(2).permute(0, 2, 1)
        a, _ = self.att(f, f, f, need_weights=False)
        h = h + a.transpose(1, 2).reshape(B, C, H, W)
        return self.c2(h)


m = load(Net())
opt = optim.Adam(m.parameters(), lr=1e-3)
ema = torch.optim.swa_utils.AveragedModel(
    m, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.95)
)
g = rng(27)
x0 = torch.tensor(g.normal(size=(4, 1, 6, 6)))
out = []
for _s in range(STEPS):
    t = torch.tensor(g.integers(0, T, 4)).long()
    noise = torch.tensor(g.normal(size=(4, 1, 6, 6)))
    xt = extract(s_acp, t, x0.shape) * x0 + extract(s_1m, t, x0.shape) * noise
    loss = F.smooth_l1_loss(noise, m(xt, t))
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update_parameters(m)
    out.append(loss.item())
ema.eval()


@torch.no_grad()
def sample():
    x = torch.tensor(rng(28).normal(size=(1, 1, 6, 6)))
    for i in reversed(range(0, T, 10)):
        t = torch.full((1,), i, dtype=torch.long)
        mean = extract(1 / torch.sqrt(alphas), t, x.shape) * (
            x - extract(betas, t, x.shape) * ema(x, t) / extract(s_1m, t, x.shape)
        )
        x = mean + torch.sqrt(extract(post_var, t, x.shape)) * 0.1
    return x


result = out + sample().flatten().tolist()
