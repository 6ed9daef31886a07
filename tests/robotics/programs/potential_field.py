"""A point that descends a potential of goal and obstacles on a field filled cell by cell."""

import numpy as np

START = np.array([1.0, 6.0, 0.8])
OBSTACLES = np.array([[2.0, 1.5], [3.5, 3.0]])


def attraction(x, y, goal, gain):
    return 0.5 * gain * np.hypot(x - goal[0], y - goal[1])


def repulsion(x, y, gain, reach):
    nearest = np.inf
    for i in range(len(OBSTACLES)):
        d = np.hypot(x - OBSTACLES[i, 0], y - OBSTACLES[i, 1])
        if d < nearest:
            nearest = d
    if nearest > reach:
        return 0.0
    return 0.5 * gain * (1.0 / nearest - 1.0 / reach) ** 2


def field(p, goal, n):
    potential = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            x, y = 0.1 + 5.0 * i / n, 0.1 + 5.0 * j / n
            potential[i, j] = attraction(x, y, goal, p[0])
            potential[i, j] += repulsion(x, y, p[1], p[2])
    return potential


def cost(p):
    """The potentials along the way of steepest descent, and the mean of the field."""
    goal, n = (4.5, 4.5), 12
    potential = field(p, goal, n)
    i = j = 0
    visited = []
    for _ in range(2 * n):
        visited.append(potential[i, j])
        best, at = potential[i, j], (i, j)
        for di, dj in ((1, 0), (0, 1), (1, 1)):
            if i + di < n and j + dj < n and potential[i + di, j + dj] < best:
                best, at = potential[i + di, j + dj], (i + di, j + dj)
        i, j = at
    return np.sum(visited) + potential.mean() + np.max(potential) * 0.01
