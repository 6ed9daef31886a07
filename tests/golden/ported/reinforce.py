"""Policy gradients: a distribution over actions, returns counted back, an actor and a critic."""

from library import load, rng, torch

nn, F = torch.nn, torch.nn.functional
numbers = rng(57)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(3, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions, self.rewards = [], []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


model = load(Policy())
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)


def select_action(state):
    probs, state_value = model(torch.from_numpy(state))
    # The place of a uniform number among the sums of probabilities, as a sampler does.
    action = int((probs.cumsum(-1) < numbers.random()).sum().item())
    log_prob = torch.log(probs[action])
    entropy = -(probs * probs.log()).sum()
    model.saved_actions.append((log_prob, state_value, entropy))
    return action


def finish_episode(gamma=0.95, eps=1e-8):
    R, returns = 0, []
    for r in model.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns, dtype=torch.float64)
    returns = (returns - returns.mean()) / (returns.std(correction=1) + eps)
    policy_losses, value_losses, entropies = [], [], []
    for (log_prob, value, entropy), R in zip(model.saved_actions, returns, strict=True):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, R.unsqueeze(0)))
        entropies.append(entropy)
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss = loss - 0.01 * torch.stack(entropies).mean()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return loss.item()


out = []
for _episode in range(15):
    state = numbers.normal(size=3)
    for _t in range(8):
        action = select_action(state)
        reward = float(state[0] > 0) if action else float(state[0] <= 0)
        state = 0.6 * state + numbers.normal(size=3) * 0.5 + (0.2 if action else -0.2)
        model.rewards.append(reward)
    episode = sum(model.rewards)
    out += [finish_episode(), episode]
result = out
