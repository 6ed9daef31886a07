"""A vision transformer: mixed images, groups of decay, accumulated gradients, two schedules."""

from library import STEPS, load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Unfold(4, stride=4)
        self.proj = nn.Linear(48, 8)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, 8))
        self.pos = nn.Parameter(torch.randn(1, 5, 8) * 0.02)
        layer = nn.TransformerEncoderLayer(
            d_model=8,
            nhead=2,
            dim_feedforward=16,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.enc = nn.TransformerEncoder(
            layer, num_layers=2, norm=nn.LayerNorm(8), enable_nested_tensor=False
        )
        self.head = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 3))

    def forward(self, x):
        x = self.proj(self.patch(x).transpose(1, 2))
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos
        return self.head(self.enc(x)[:, 0])


m = load(ViT())
decay = {n for n, p in m.named_parameters() if p.ndim > 1}
opt = optim.AdamW(
    [
        {"params": [p for n, p in m.named_parameters() if n in decay]},
        {"params": [p for n, p in m.named_parameters() if n not in decay], "weight_decay": 0.0},
    ],
    lr=1e-3,
    weight_decay=0.05,
)
w = optim.lr_scheduler.LinearLR(opt, 0.1, 1.0, 4)
c = optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=4, T_mult=2)
sch = optim.lr_scheduler.ChainedScheduler([w, c])
g = rng(44)
x = torch.tensor(g.normal(size=(8, 3, 8, 8)))
y = torch.tensor(g.integers(0, 3, 8))
out = []
lam = 0.3
idx = torch.tensor(g.permutation(8))
for s in range(STEPS):
    mixed = lam * x + (1 - lam) * x[idx]
    yy = lam * F.one_hot(y, 3).double() + (1 - lam) * F.one_hot(y[idx], 3).double()
    loss = nn.CrossEntropyLoss()(m(mixed), yy) / 2
    loss.backward()
    if (s + 1) % 2 == 0:
        opt.step()
        opt.zero_grad()
    sch.step()
    out += [loss.item(), sch.get_last_lr()[0]]
result = out
