"""A tagger of words: packed sequences in a bidirectional LSTM, padding that counts for nothing."""

from library import STEPS, load, rng, torch

nn, F = torch.nn, torch.nn.functional
from_sequences = torch.nn.utils.rnn


class Tagger(nn.Module):
    def __init__(self, vocab, tags):
        super().__init__()
        self.embedding = nn.Embedding(vocab, 5, padding_idx=0)
        self.lstm = nn.LSTM(5, 4, num_layers=2, bidirectional=True, batch_first=True, dropout=0.0)
        self.gru = nn.GRU(8, 3, batch_first=True)
        self.dropout = nn.Dropout(0.0)
        self.fc = nn.Linear(8 + 3, tags)

    def forward(self, text, lengths):
        embedded = self.dropout(self.embedding(text))
        packed = from_sequences.pack_padded_sequence(
            embedded, lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        packed_output, (hidden, cell) = self.lstm(packed)
        output, output_lengths = from_sequences.pad_packed_sequence(packed_output, batch_first=True)
        again = from_sequences.pack_padded_sequence(
            output, output_lengths, batch_first=True, enforce_sorted=False
        )
        last = self.gru(again)[1][-1]
        summary = last.unsqueeze(1).expand(-1, output.size(1), -1)
        return self.fc(torch.cat((output, summary), dim=2)), hidden, cell


numbers = rng(55)
lengths = torch.tensor([4, 7, 2, 7, 5])
sentences = [torch.tensor(numbers.integers(1, 13, int(n))) for n in lengths]
tags = [torch.tensor(numbers.integers(0, 4, int(n))) for n in lengths]
text = from_sequences.pad_sequence(sentences, batch_first=True)
gold = from_sequences.pad_sequence(tags, batch_first=True, padding_value=-1)
model = load(Tagger(13, 4))
criterion = nn.CrossEntropyLoss(ignore_index=-1)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
out = []
for _ in range(STEPS):
    optimizer.zero_grad()
    predictions, hidden, cell = model(text, lengths)
    loss = criterion(predictions.view(-1, predictions.shape[-1]), gold.view(-1))
    loss.backward()
    optimizer.step()
    mask = gold != -1
    correct = predictions.argmax(dim=-1)[mask].eq(gold[mask])
    out += [loss.item(), correct.sum().item() / mask.sum().item()]
result = [*out, hidden.abs().sum().item(), cell.abs().sum().item()]
