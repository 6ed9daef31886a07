"""Averaged weights, batch norms brought up to date, a checkpoint written and read."""

import copy
import os
import tempfile

from library import load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim

su = torch.optim.swa_utils
m = load(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)))
X, y = torch.tensor(rng(33).normal(size=(24, 4))), torch.tensor(rng(34).integers(0, 3, 24))


class DS(torch.utils.data.Dataset):
    def __init__(self, tf=None):
        self.tf = tf

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        if torch.is_tensor(i):
            i = i.tolist()
        s = {"x": X[i], "y": int(y[i])}
        return self.tf(s) if self.tf else s


loader = torch.utils.data.DataLoader(
    DS(lambda s: (s["x"] * 1.0, s["y"])), batch_size=8, drop_last=True
)
opt = optim.SGD(m.parameters(), lr=0.1)
swa_model = su.AveragedModel(m)
sch = optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10)
swa_sch = su.SWALR(opt, anneal_strategy="linear", anneal_epochs=3, swa_lr=0.05)
out = []
for ep in range(7):
    for x, t in loader:
        opt.zero_grad()
        loss = F.cross_entropy(m(x), t)
        loss.backward()
        opt.step()
        out.append(loss.item())
    if ep > 3:
        swa_model.update_parameters(m)
        swa_sch.step()
    else:
        sch.step()
su.update_bn(loader, swa_model)
swa_model.eval()
best = copy.deepcopy(swa_model.state_dict())
swa_model.load_state_dict(best)
ck = {
    "epoch": ep,
    "model_state_dict": m.state_dict(),
    "optimizer_state_dict": opt.state_dict(),
    "loss": loss,
}

p = os.path.join(tempfile.mkdtemp(), "checkpoint.pth")
ck["loss"] = loss.item()
torch.save(ck, p)
ck = torch.load(p, map_location="cpu", weights_only=True)
m.load_state_dict(ck["model_state_dict"])
opt.load_state_dict(ck["optimizer_state_dict"])
result = out + swa_model(X).sum(0).tolist() + [ck["epoch"], ck["loss"]]
