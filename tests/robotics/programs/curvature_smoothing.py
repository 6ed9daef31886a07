"""A way of arcs and lines, whose jumps of curvature are smoothed by a moving average."""

import math

import numpy as np

START = np.array([1.2, 0.9, 1.5, 0.3])


def curvatures(radius, angle, straight, n=30):
    kappa = np.zeros(n)
    lengths = np.array([radius * angle, straight, radius * angle])
    step = lengths.sum() / n
    edges = np.cumsum(lengths)
    for i in range(n):
        s = (i + 0.5) * step
        if s < edges[0]:
            kappa[i] = 1.0 / radius
        elif s > edges[1]:
            kappa[i] = -1.0 / radius
    return kappa, step


def averaged(kappa, weight):
    out = kappa.copy()
    for _ in range(3):
        out[1:-1] = (1 - weight) * out[1:-1] + weight / 2 * (out[:-2] + out[2:])
    return out


def poses(kappa, step):
    x = np.zeros((len(kappa) + 1, 3))
    for i, k in enumerate(kappa):
        x[i + 1] = x[i]
        x[i + 1, 2] += k * step
        x[i + 1, 0] += step * math.cos(x[i, 2] + k * step / 2)
        x[i + 1, 1] += step * math.sin(x[i, 2] + k * step / 2)
    return x


def cost(p):
    """The changes of curvature and the distance to a goal."""
    kappa, step = curvatures(p[0], p[1], p[2])
    kappa = averaged(kappa, p[3])
    end = poses(kappa, step)[-1]
    error = end - np.array([3.0, 1.0, 0.0])
    error[2] *= 0.5
    return np.sum(np.abs(np.diff(kappa))) + np.linalg.norm(error)
