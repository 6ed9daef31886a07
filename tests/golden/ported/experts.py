"""A mixture of experts: the best two of a gate, tokens sent by masks, a loss of balance."""

from library import STEPS, load, rng, torch

nn, F = torch.nn, torch.nn.functional


class Expert(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_embd, 2 * n_embd), nn.SiLU(), nn.Linear(2 * n_embd, n_embd)
        )

    def forward(self, x):
        return self.net(x)


class SparseMoE(nn.Module):
    def __init__(self, n_embd, num_experts, top_k):
        super().__init__()
        self.gate = nn.Linear(n_embd, num_experts, bias=False)
        self.experts = nn.ModuleList([Expert(n_embd) for _ in range(num_experts)])
        self.top_k = top_k

    def forward(self, x):
        logits = self.gate(x)
        top_k_logits, indices = logits.topk(self.top_k, dim=-1)
        zeros = torch.full_like(logits, float("-inf"))
        sparse_logits = zeros.scatter(-1, indices, top_k_logits)
        gating = F.softmax(sparse_logits, dim=-1)
        final_output = torch.zeros_like(x)
        flat_x, flat_gating = x.view(-1, x.size(-1)), gating.view(-1, gating.size(-1))
        for i, expert in enumerate(self.experts):
            expert_mask = (indices == i).any(dim=-1)
            flat_mask = expert_mask.view(-1)
            if flat_mask.any():
                expert_output = expert(flat_x[flat_mask])
                gating_scores = flat_gating[flat_mask, i].unsqueeze(1)
                final_output[expert_mask] += expert_output * gating_scores
        density = F.one_hot(indices[..., 0], len(self.experts)).to(x.dtype).mean(dim=(0, 1))
        balance = (density * F.softmax(logits, dim=-1).mean(dim=(0, 1))).sum() * len(self.experts)
        return final_output, balance


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 6)
        self.ln = nn.LayerNorm(6)
        self.moe = SparseMoE(6, 4, 2)
        self.head = nn.Linear(6, 11)

    def forward(self, idx):
        x = self.embed(idx)
        y, balance = self.moe(self.ln(x))
        return self.head(x + y), balance


model = load(Block())
numbers = rng(54)
idx = torch.tensor(numbers.integers(0, 11, (3, 8)))
targets = torch.tensor(numbers.integers(0, 11, (3, 8)))
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
out = []
for _ in range(STEPS):
    logits, balance = model(idx)
    B, T, C = logits.shape
    loss = F.cross_entropy(logits.view(B * T, C), targets.view(B * T)) + 0.01 * balance
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
    optimizer.step()
    out += [loss.item(), balance.item()]
result = out
