"""Speech: packed sequences of several lengths, CTC, one cycle."""

from library import STEPS, load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(5, 8, 3, padding=1)
        self.bn = nn.BatchNorm1d(8)
        self.rnn = nn.LSTM(8, 6, num_layers=2, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(12, 7)

    def forward(self, x, lens):
        x = F.hardtanh(self.bn(self.conv(x)), 0, 20).transpose(1, 2)
        x = nn.utils.rnn.pack_padded_sequence(x, lens, batch_first=True, enforce_sorted=False)
        x, _ = self.rnn(x)
        x, lens = nn.utils.rnn.pad_packed_sequence(x, batch_first=True)
        return self.fc(x).log_softmax(2).transpose(0, 1), lens


model = load(Net())
opt = optim.AdamW(model.parameters(), lr=5e-3)
crit = nn.CTCLoss(blank=0, zero_infinity=True)
g = rng(13)
x = torch.tensor(g.normal(size=(3, 5, 12)))
lens = torch.tensor([12, 9, 10])
tg = torch.tensor(g.integers(1, 7, (3, 4)))
tl = torch.tensor([4, 2, 3], dtype=torch.long)
sch = optim.lr_scheduler.OneCycleLR(
    opt, max_lr=5e-3, steps_per_epoch=5, epochs=4, anneal_strategy="linear"
)
out = []
for _s in range(STEPS):
    lp, ol = model(x, lens)
    loss = crit(lp, tg, ol, tl)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sch.step()
    out.append(loss.item())
am = torch.argmax(lp.transpose(0, 1), dim=2)
dec = [[int(k) for k in torch.unique_consecutive(r) if k != 0] for r in am]
result = out + [k for row in dec for k in row]
