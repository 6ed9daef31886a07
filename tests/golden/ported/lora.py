"""Low-rank adaptation: frozen weights, adapters put into a transformer, merged at the end."""

import math

from library import STEPS, load, rng, torch

nn, F = torch.nn, torch.nn.functional


class LoRALinear(nn.Module):
    def __init__(self, base, r=2, alpha=4, dropout=0.0):
        super().__init__()
        self.base, self.scaling = base, alpha / r
        self.lora_dropout = nn.Dropout(dropout)
        self.lora_A = nn.Parameter(torch.zeros(r, base.in_features, dtype=torch.float64))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r, dtype=torch.float64))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        update = self.lora_dropout(x) @ self.lora_A.transpose(-1, -2) @ self.lora_B.t()
        return self.base(x) + update * self.scaling


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 8)
        layer = nn.TransformerEncoderLayer(
            8, 2, 16, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.proj = nn.Linear(8, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, x, mask):
        h = self.encoder(self.embed(x), src_key_padding_mask=mask)
        h = F.gelu(self.proj(h)).masked_fill(mask.unsqueeze(-1), 0.0)
        return self.head(h.sum(1) / (~mask).sum(1, keepdim=True))


model = load(Classifier())
for param in model.parameters():
    param.requires_grad = False
model.proj = LoRALinear(model.proj)
model.head = LoRALinear(model.head)
numbers = rng(59)
with torch.no_grad():
    for part in (model.proj, model.head):
        part.lora_A.copy_(torch.tensor(numbers.normal(size=tuple(part.lora_A.shape)) * 0.3))
trainable = [n for n, p in model.named_parameters() if p.requires_grad]
assert all("lora_" in n for n in trainable)
x = torch.tensor(numbers.integers(0, 9, (5, 6)))
mask = torch.tensor([[False] * n + [True] * (6 - n) for n in (6, 4, 3, 5, 6)])
y = torch.tensor(numbers.integers(0, 3, 5))
optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, model.parameters()), lr=2e-2)
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: min((step + 1) / 5, 0.5 * (1 + math.cos(math.pi * step / STEPS)))
)
out = []
model.train()
for _ in range(STEPS):
    loss = F.cross_entropy(model(x, mask), y)
    loss.backward()
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
    out += [loss.item(), scheduler.get_last_lr()[0]]
model.eval()
with torch.no_grad():
    whole = model(x, mask)
    head = model.head
    merged = head.lora_B @ head.lora_A * head.scaling
    base = head.base.weight
    model.head.base.weight.copy_(base + (merged if base.shape == (3, 8) else merged.T))
    model.head = model.head.base
    assert torch.allclose(model(x, mask), whole)
result = out + whole.flatten().tolist()
