"""A Wasserstein GAN with a penalty of gradients: `autograd.grad` with `create_graph`."""

from library import load, rng, torch

nn = torch.nn
autograd = torch.autograd
numbers = rng(51)
G = load(nn.Sequential(nn.Linear(3, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 2)))
D = load(
    nn.Sequential(
        nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16), nn.ELU(), nn.Linear(16, 1)
    )
)
opt_d = torch.optim.RMSprop(D.parameters(), lr=1e-3)
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))


def compute_gradient_penalty(D, real_samples, fake_samples):
    alpha = torch.tensor(numbers.random((real_samples.size(0), 1)))
    interpolates = (alpha * real_samples + (1 - alpha) * fake_samples).requires_grad_(True)
    d_interpolates = D(interpolates)
    fake = torch.ones_like(d_interpolates, requires_grad=False)
    gradients = autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=fake,
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    gradients = gradients.view(gradients.size(0), -1)
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


out = []
for step in range(24):
    real = torch.tensor(numbers.normal(size=(12, 2)) * 0.3 + 1.0)
    z = torch.tensor(numbers.normal(size=(12, 3)))
    for p in D.parameters():
        p.requires_grad = True
    opt_d.zero_grad()
    fake = G(z).detach()
    gradient_penalty = compute_gradient_penalty(D, real.data, fake.data)
    d_loss = -torch.mean(D(real)) + torch.mean(D(fake)) + 10.0 * gradient_penalty
    d_loss.backward()
    opt_d.step()
    out += [d_loss.item(), gradient_penalty.item()]
    if step % 3 == 2:
        for p in D.parameters():
            p.requires_grad = False
        opt_g.zero_grad()
        g_loss = -torch.mean(D(G(z)))
        g_loss.backward()
        opt_g.step()
        out.append(g_loss.item())
result = out
