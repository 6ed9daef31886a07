"""A path made smooth by sweeps of gradient steps in place, and its clearance of obstacles."""

import copy

import numpy as np

WAY = np.array([[0.0, 0.0], [1.0, 0.1], [2.0, 1.1], [2.2, 2.0], [3.1, 2.2], [4.0, 3.0]])
OBSTACLES = [(1.5, 1.2, 0.4), (3.0, 1.2, 0.5)]
START = np.array([0.3, 0.4, 0.1])


def smoothed(path, data, smooth):
    new = copy.deepcopy(path)
    for _ in range(10):
        for i in range(1, len(path) - 1):
            for j in range(2):
                new[i, j] += data * (path[i, j] - new[i, j])
                new[i, j] += smooth * (new[i - 1, j] + new[i + 1, j] - 2.0 * new[i, j])
    return new


def cost(p):
    """Bends and clearance, by the weights of the smoother and a shift of the way."""
    path = np.array(WAY)
    path[1:-1, 1] += p[2]
    path = smoothed(path, p[0], p[1])
    bends = np.zeros(len(path))
    for i in range(1, len(path) - 1):
        d = path[i + 1] - 2 * path[i] + path[i - 1]
        bends[i] = np.sqrt(d @ d + 1e-6)
    total = bends.sum()
    for x, y, radius in OBSTACLES:
        for i in range(len(path)):
            distance = np.sqrt((path[i, 0] - x) ** 2 + (path[i, 1] - y) ** 2)
            if distance < 3 * radius:
                total += (3 * radius - distance) ** 2
    return total
