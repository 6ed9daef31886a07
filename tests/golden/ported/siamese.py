"""A siamese network: shared branches, a contrastive loss, the margins of cosines and triplets."""

from library import STEPS, load, rng, torch

nn, F = torch.nn, torch.nn.functional


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn1 = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(1, 4, kernel_size=3),
            nn.ReLU(inplace=True),
            nn.BatchNorm2d(4),
            nn.Dropout2d(p=0.0),
            nn.MaxPool2d(2, stride=2),
            nn.ReplicationPad2d((1, 1, 1, 1)),
            nn.Conv2d(4, 6, 3, stride=2),
            nn.PReLU(),
            nn.AdaptiveAvgPool2d((2, 2)),
        )
        self.fc1 = nn.Sequential(nn.Linear(24, 10), nn.SELU(), nn.Linear(10, 5))

    def forward_once(self, x):
        output = self.cnn1(x)
        output = output.view(output.size()[0], -1)
        return self.fc1(output)

    def forward(self, input1, input2):
        return self.forward_once(input1), self.forward_once(input2)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        euclidean_distance = F.pairwise_distance(output1, output2, keepdim=True)
        return torch.mean(
            (1 - label) * torch.pow(euclidean_distance, 2)
            + label * torch.pow(torch.clamp(self.margin - euclidean_distance, min=0.0), 2)
        )


net = load(SiameseNetwork())
criterion = ContrastiveLoss()
triplet = nn.TripletMarginLoss(margin=0.5, p=2, swap=True)
cosine = nn.CosineEmbeddingLoss(margin=0.2)
optimizer = torch.optim.SGD(
    net.parameters(), lr=0.02, momentum=0.9, nesterov=True, weight_decay=5e-4
)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=6, gamma=0.5)
numbers = rng(52)
x0, x1, x2 = (torch.tensor(numbers.normal(size=(6, 1, 10, 10))) for _ in range(3))
label = torch.tensor(numbers.integers(0, 2, (6, 1))).double()
out = []
for _ in range(STEPS):
    optimizer.zero_grad()
    o0, o1 = net(x0, x1)
    o2 = net.forward_once(x2)
    loss = criterion(o0, o1, label)
    loss = loss + triplet(o0, o1, o2) + cosine(o0, o2, 1 - 2 * label.squeeze(1))
    loss.backward()
    optimizer.step()
    scheduler.step()
    out.append(loss.item())
out += scheduler.get_last_lr()
out.append((F.pairwise_distance(o0, o1) < 1.0).sum().item())
result = out
