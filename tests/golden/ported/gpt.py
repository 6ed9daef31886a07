"""A small GPT: groups of decay, clipping, a cosine, generation."""

import math

import numpy as np
from library import STEPS, load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, block):
        super().__init__()
        assert n_embd % n_head == 0
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=True)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.attn_dropout = nn.Dropout(0.0)
        self.register_buffer("bias", torch.tril(torch.ones(block, block)).view(1, 1, block, block))
        self.n_head, self.n_embd = n_head, n_embd
        self.flash = hasattr(F, "scaled_dot_product_attention")

    def forward(self, x, flash):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).chunk(3, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        if flash:
            y = F.scaled_dot_product_attention(
                q, k, v, attn_mask=None, dropout_p=0.0, is_causal=True
            )
        else:
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
            att = F.softmax(att, dim=-1)
            att = self.attn_dropout(att)
            y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class Block(nn.Module):
    def __init__(self, c, h, b):
        super().__init__()
        self.ln_1 = nn.LayerNorm(c)
        self.attn = CausalSelfAttention(c, h, b)
        self.ln_2 = nn.LayerNorm(c, elementwise_affine=True)
        self.mlp = nn.ModuleDict(
            {
                "c_fc": nn.Linear(c, 4 * c),
                "c_proj": nn.Linear(4 * c, c),
                "act": nn.GELU(approximate="tanh"),
            }
        )
        m = self.mlp
        self.mlpf = lambda x: m.c_proj(m.act(m.c_fc(x)))

    def forward(self, x, flash):
        x = x + self.attn(self.ln_1(x), flash)
        return x + self.mlpf(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab, block, c, h, L):
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(vocab, c),
                "wpe": nn.Embedding(block, c),
                "drop": nn.Dropout(0.0),
                "h": nn.ModuleList([Block(c, h, block) for _ in range(L)]),
                "ln_f": nn.LayerNorm(c),
            }
        )
        self.lm_head = nn.Linear(c, vocab, bias=False)
        self.apply(self._init_weights)
        for pn, p in self.named_parameters():
            if pn.endswith("c_proj.weight"):
                torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * L))

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None, flash=True):
        _b, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        for block in self.transformer.h:
            x = block(x, flash)
        x = self.transformer.ln_f(x)
        if targets is not None:
            logits = self.lm_head(x)
            return logits, F.cross_entropy(
                logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1
            )
        return self.lm_head(x[:, [-1], :]), None

    def configure_optimizers(self):
        pd = {pn: p for pn, p in self.named_parameters() if p.requires_grad}
        decay = [p for n, p in pd.items() if p.dim() >= 2]
        nodecay = [p for n, p in pd.items() if p.dim() < 2]
        return torch.optim.AdamW(
            [{"params": decay, "weight_decay": 0.1}, {"params": nodecay, "weight_decay": 0.0}],
            lr=1e-3,
            betas=(0.9, 0.95),
            fused=False,
        )


model = load(GPT(17, 8, 8, 2, 2))
opt = model.configure_optimizers()
sched = optim.lr_scheduler.CosineAnnealingLR(opt, T_max=STEPS)
g = rng(12)
data = torch.from_numpy(g.integers(0, 17, 200).astype(np.int64))
out = []
for s in range(STEPS):
    ix = torch.from_numpy(g.integers(0, 190, (4,)))
    x = torch.stack([data[i : i + 8] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + 8] for i in ix])
    y[0, 0] = -1
    _, loss = model(x, y, flash=bool(s % 2))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    gn = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    out += [loss.item(), float(gn)]
# generate
model.eval()
idx = torch.zeros((1, 1), dtype=torch.long)
with torch.no_grad():
    for _ in range(5):
        logits, _ = model(idx if idx.size(1) <= 8 else idx[:, -8:])
        logits = logits[:, -1, :] / 0.8
        v, _ = torch.topk(logits, min(3, logits.size(-1)))
        logits[logits < v[:, [-1]]] = -float("Inf")
        probs = F.softmax(logits, dim=-1)
        torch.multinomial(probs, num_samples=1)
        idx_next = torch.argmax(probs, dim=-1, keepdim=True)
        idx = torch.cat((idx, idx_next), dim=1)
result = out + idx[0].tolist()
