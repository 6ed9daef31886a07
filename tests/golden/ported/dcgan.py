"""A convolutional GAN: two optimisers, labels of one and zero, `detach` between the networks."""

from library import STEPS, load, rng, torch

nn, optim = torch.nn, torch.optim


class Generator(nn.Module):
    def __init__(self, nz=5, ngf=4, nc=1):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self, nc=1, ndf=4):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


def weights_init(m):
    if m.__class__.__name__.find("BatchNorm") != -1:
        nn.init.constant_(m.weight.data, 1.0)
        nn.init.constant_(m.bias.data, 0)


generator, discriminator = load(Generator()), load(Discriminator())
generator.apply(weights_init)
discriminator.apply(weights_init)
criterion = nn.BCELoss()
real_label, fake_label = 1.0, 0.0
optimizer_d = optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizer_g = optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
numbers = rng(50)
data = torch.from_numpy(numbers.uniform(-1, 1, size=(6, 1, 16, 16)))
out = []
for _ in range(STEPS):
    discriminator.zero_grad()
    b_size = data.size(0)
    label = torch.full((b_size,), real_label, dtype=torch.float64)
    err_real = criterion(discriminator(data), label)
    err_real.backward()
    noise = torch.from_numpy(numbers.normal(size=(b_size, 5, 1, 1)))
    fake = generator(noise)
    label.fill_(fake_label)
    output = discriminator(fake.detach())
    err_fake = criterion(output, label)
    err_fake.backward()
    seen = output.mean().item()
    optimizer_d.step()

    generator.zero_grad()
    label.fill_(real_label)
    output = discriminator(fake)
    err_g = criterion(output, label)
    err_g.backward()
    optimizer_g.step()
    out += [(err_real + err_fake).item(), err_g.item(), seen, output.mean().item()]
generator.eval()
with torch.no_grad():
    out.append(generator(torch.ones(1, 5, 1, 1, dtype=torch.float64)).abs().sum().item())
result = out
