"""A histogram filter on a grid: motion by shifts, blur, likelihoods of distances to beacons."""

import copy
import math

import numpy as np

START = np.array([0.6, 0.7, 0.15])
BEACONS = np.array([[0.5, 2.5], [3.0, 0.5]])
N = 8


class GridMap:
    def __init__(self):
        self.data = np.ones((N, N)) / N**2
        self.resolution = 0.5
        self.dx = 0.0

    def normalize(self):
        self.data /= self.data.sum()


def moved(grid, steps):
    new = copy.deepcopy(grid)
    for i in range(N):
        for j in range(N):
            new.data[i, j] = grid.data[(i - steps) % N, j]
    return new


def blurred(data, w):
    out = (1 - w) * data
    out[1:] += w / 2 * data[:-1]
    out[:-1] += w / 2 * data[1:]
    return out


def likelihood(grid, z, std):
    value = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            x, y = i * grid.resolution, j * grid.resolution
            total = 0.0
            for k in range(len(BEACONS)):
                d = math.hypot(x - BEACONS[k, 0], y - BEACONS[k, 1])
                total += (d - z[k]) ** 2
            value[i, j] = math.exp(-total / (2 * std**2)) / (math.sqrt(2 * math.pi) * std)
    return value


def cost(p):
    """The negative logarithm of the likelihood, by deviations and the blur."""
    grid, loss = GridMap(), 0.0
    for t in range(3):
        grid = moved(grid, 1)
        grid.data = blurred(grid.data, p[2])
        z = [1.2 + 0.1 * t, 1.9 - 0.2 * t]
        grid.data *= likelihood(grid, z, p[0] if t % 2 else p[1])
        loss -= np.log(np.sum(grid.data))
        grid.normalize()
    return loss + grid.data[3, 3]
