"""A U-Net with a loss of overlaps, RMSprop and a schedule of plateaus."""

from library import STEPS, load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class DoubleConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(i, o, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(inplace=True),
            nn.Conv2d(o, o, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, i, o, bilinear):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(i + i // 2, o)
        else:
            self.up = nn.ConvTranspose2d(i, i // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(i, o)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diffY = x2.size()[2] - x1.size()[2]
        diffX = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc = DoubleConv(1, 4)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(4, 8))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(8, 16))
        self.up1 = Up(16, 8, False)
        self.up2 = Up(8, 4, True)
        self.outc = nn.Conv2d(4, 3, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.up1(x3, x2)
        x = self.up2(x, x1)
        return self.outc(x)


def dice_coeff(input, target, reduce_batch_first=False, epsilon=1e-6):
    assert input.size() == target.size()
    sum_dim = (-1, -2) if input.dim() == 2 or not reduce_batch_first else (-1, -2, -3)
    inter = 2 * (input * target).sum(dim=sum_dim)
    sets_sum = input.sum(dim=sum_dim) + target.sum(dim=sum_dim)
    sets_sum = torch.where(sets_sum == 0, inter, sets_sum)
    return ((inter + epsilon) / (sets_sum + epsilon)).mean()


model = load(UNet()).to(device)
x = torch.from_numpy(rng(0).normal(size=(2, 1, 14, 14))).to(device=device, dtype=torch.float64)
masks = torch.from_numpy(rng(1).integers(0, 3, (2, 14, 14))).to(device=device, dtype=torch.long)
opt = optim.RMSprop(model.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.9, foreach=True)
sched = optim.lr_scheduler.ReduceLROnPlateau(opt, "max", patience=5)
crit = nn.CrossEntropyLoss()
out = []
for _s in range(STEPS):
    model.train()
    pred = model(x)
    loss = crit(pred, masks)
    loss += 1 - dice_coeff(
        F.softmax(pred, dim=1).float().flatten(0, 1).double(),
        F.one_hot(masks, 3).permute(0, 3, 1, 2).to(pred.dtype).flatten(0, 1),
        True,
    )
    opt.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step(1 - loss.item())
    out.append(loss.item())
model.eval()
with torch.no_grad():
    pm = model(x).argmax(dim=1)
    out.append((pm == masks).sum().item() / pm.numel())
result = out
