"""Accumulated gradients, clipping, warm-up and cosine, averages, early stopping, resuming."""

import copy

from library import load, rng, torch

nn, F = torch.nn, torch.nn.functional


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {n: p.data.clone() for n, p in model.named_parameters() if p.requires_grad}
        self.backup = {}

    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n] = (1.0 - self.decay) * p.data + self.decay * self.shadow[n]

    def apply_shadow(self, model):
        for n, p in model.named_parameters():
            self.backup[n] = p.data.clone()
            p.data = self.shadow[n]

    def restore(self, model):
        for n, p in model.named_parameters():
            p.data = self.backup[n]


class Residual(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.a = nn.utils.parametrizations.weight_norm(nn.Linear(n, n))
        self.norm = nn.GroupNorm(2, n)

    def forward(self, x):
        return x + F.mish(self.norm(self.a(x)))


model = load(nn.Sequential(nn.Linear(5, 8), Residual(8), Residual(8), nn.Linear(8, 1)))
numbers = rng(60)
x = torch.tensor(numbers.normal(size=(48, 5)))
y = torch.sin(x.sum(1, keepdim=True)) + 0.1 * torch.tensor(numbers.normal(size=(48, 1)))
train = torch.utils.data.TensorDataset(x[:32], y[:32])
loader = torch.utils.data.DataLoader(train, batch_size=4, shuffle=False)
optimizer = torch.optim.RAdam(model.parameters(), lr=2e-2, weight_decay=1e-3)
warm = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=3)
cosine = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=4, T_mult=2)
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, cosine], milestones=[3])
averaged = torch.optim.swa_utils.AveragedModel(
    model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
)
ema, accumulation_steps, best, kept, out = EMA(model, 0.8), 3, float("inf"), None, []
for epoch in range(6):
    model.train()
    optimizer.zero_grad()
    for i, (inputs, labels) in enumerate(loader):
        loss = F.mse_loss(model(inputs), labels) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0 or i + 1 == len(loader):
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5, norm_type=2)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            ema.update(model)
            averaged.update_parameters(model)
            out += [loss.item(), norm.item(), optimizer.param_groups[0]["lr"]]
    ema.apply_shadow(model)
    model.eval()
    with torch.no_grad():
        valid = F.mse_loss(model(x[32:]), y[32:]).item()
        out += [valid, F.mse_loss(averaged(x[32:]), y[32:]).item()]
    ema.restore(model)
    if valid < best:
        best, kept = (
            valid,
            copy.deepcopy(
                {
                    "model": model.state_dict(),
                    "optim": optimizer.state_dict(),
                    "sched": scheduler.state_dict(),
                }
            ),
        )
    if epoch == 3:
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optim"])
        scheduler.load_state_dict(kept["sched"])
result = [*out, best]
