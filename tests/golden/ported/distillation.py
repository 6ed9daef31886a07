"""Distillation of a frozen teacher: soft labels by `kl_div`, hints from a hook inside of it."""

from library import STEPS, load, rng, torch

nn, F = torch.nn, torch.nn.functional
numbers = rng(53)
teacher = load(
    nn.Sequential(nn.Linear(6, 20), nn.GELU(), nn.Linear(20, 12), nn.GELU(), nn.Linear(12, 4))
)
student = load(nn.Sequential(nn.Linear(6, 5), nn.Hardswish(), nn.Linear(5, 4)))
regressor = load(nn.Linear(5, 12, bias=False))
for p in teacher.parameters():
    p.requires_grad_(False)
teacher.eval()
hints = {}
teacher[3].register_forward_hook(lambda m, i, o: hints.__setitem__("teacher", o.detach()))
student[1].register_forward_hook(lambda m, i, o: hints.__setitem__("student", o))
x, y = torch.tensor(numbers.normal(size=(16, 6))), torch.tensor(numbers.integers(0, 4, 16))
T, alpha = 3.0, 0.7
optimizer = torch.optim.AdamW(
    [
        {"params": student.parameters()},
        {"params": regressor.parameters(), "lr": 1e-2, "weight_decay": 0.0},
    ],
    lr=5e-3,
)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=[5e-3, 1e-2], total_steps=STEPS)
out = []
for _ in range(STEPS):
    with torch.no_grad():
        t_logits = teacher(x)
    s_logits = student(x)
    soft = F.kl_div(
        F.log_softmax(s_logits / T, dim=1), F.softmax(t_logits / T, dim=1), reduction="batchmean"
    ) * (T * T)
    hard = F.cross_entropy(s_logits, y, label_smoothing=0.05)
    hint = F.smooth_l1_loss(regressor(hints["student"]), hints["teacher"], beta=0.5)
    loss = alpha * soft + (1.0 - alpha) * hard + 0.1 * hint
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    scheduler.step()
    out += [loss.item(), soft.item(), scheduler.get_last_lr()[1]]
result = [*out, s_logits.argmax(-1).eq(t_logits.argmax(-1)).double().mean().item()]
