"""A translator with attention and teacher forcing, two optimisers, decoding."""

from library import STEPS, load, rng, torch

nn, F, optim = torch.nn, torch.nn.functional, torch.optim
SOS = 0


class EncoderRNN(nn.Module):
    def __init__(self, i, h, dropout_p=0.0):
        super().__init__()
        self.hidden_size = h
        self.embedding = nn.Embedding(i, h)
        self.gru = nn.GRU(h, h, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        return self.gru(self.dropout(self.embedding(input)))


class BahdanauAttention(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.Wa = nn.Linear(h, h)
        self.Ua = nn.Linear(h, h)
        self.Va = nn.Linear(h, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, h, o, L):
        super().__init__()
        self.L = L
        self.embedding = nn.Embedding(o, h)
        self.attention = BahdanauAttention(h)
        self.gru = nn.GRU(2 * h, h, batch_first=True)
        self.out = nn.Linear(h, o)
        self.dropout = nn.Dropout(0.0)

    def forward(self, eo, eh, target=None):
        batch_size = eo.size(0)
        di = torch.empty(batch_size, 1, dtype=torch.long, device="cpu").fill_(SOS)
        dh = eh
        outs, atts = [], []
        for i in range(self.L):
            o, dh, a = self.forward_step(di, dh, eo)
            outs.append(o)
            atts.append(a)
            if target is not None:
                di = target[:, i].unsqueeze(1)
            else:
                _, topi = o.topk(1)
                di = topi.squeeze(-1).detach()
        outs = torch.cat(outs, dim=1)
        outs = F.log_softmax(outs, dim=-1)
        return outs, dh, torch.cat(atts, dim=1)

    def forward_step(self, input, hidden, eo):
        emb = self.dropout(self.embedding(input))
        query = hidden.permute(1, 0, 2)
        ctx, w = self.attention(query, eo)
        o, hidden = self.gru(torch.cat((emb, ctx), dim=2), hidden)
        return self.out(o), hidden, w


enc, dec = load(EncoderRNN(12, 8)), load(AttnDecoderRNN(8, 11, 5))
eopt = optim.Adam(enc.parameters(), lr=0.01)
dopt = optim.Adam(dec.parameters(), lr=0.01)
crit = nn.NLLLoss()
g = rng(11)
src = torch.tensor(g.integers(0, 12, (3, 6)))
tgt = torch.tensor(g.integers(0, 11, (3, 5)))
out = []
for s in range(STEPS):
    eopt.zero_grad()
    dopt.zero_grad()
    eo, eh = enc(src)
    do, _, _ = dec(eo, eh, tgt if s % 2 == 0 else None)
    loss = crit(do.view(-1, do.size(-1)), tgt.view(-1))
    loss.backward()
    eopt.step()
    dopt.step()
    out.append(loss.item())
with torch.no_grad():
    do, _, att = dec(*enc(src))
    _, topi = do.topk(1)
    out += topi.squeeze().flatten().tolist()
result = out
