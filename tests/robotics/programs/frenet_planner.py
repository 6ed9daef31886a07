"""Costs of lateral and longitudinal polynomials in the frame of a course, and the best of them."""

import copy
import math

import numpy as np

START = np.array([0.5, 0.1, 4.0, 0.2])


class FrenetPath:
    def __init__(self):
        self.t, self.d, self.s, self.jerk = [], [], [], []
        self.cd = self.cv = self.cf = 0.0


def quartic(s0, v0, a0, v1, T):
    A = np.zeros((2, 2))
    A[0] = [3 * T**2, 4 * T**3]
    A[1] = [6 * T, 12 * T**2]
    b = np.array([v1 - v0 - a0 * T, -a0])
    return np.concatenate(([s0, v0, a0 / 2.0], np.linalg.solve(A, b)))


def quintic(d0, v0, a0, d1, T):
    A = np.zeros((3, 3))
    A[0] = [T**3, T**4, T**5]
    A[1] = [3 * T**2, 4 * T**3, 5 * T**4]
    A[2] = [6 * T, 12 * T**2, 20 * T**3]
    b = np.array([d1 - d0 - v0 * T - a0 / 2 * T**2, -v0 - a0 * T, -a0])
    return np.hstack(([d0, v0, a0 / 2.0], np.linalg.solve(A, b)))


def at(c, t):
    return sum(c[k] * t**k for k in range(len(c)))


def third(c, t):
    return sum(c[k] * k * (k - 1) * (k - 2) * t ** (k - 3) for k in range(3, len(c)))


def paths(p):
    found = []
    for di in (-1.0, 0.0, 1.0):
        fp = FrenetPath()
        T = 3.0
        lateral = quintic(p[0], p[1], 0.0, di, T)
        for k in range(10):
            t = T * k / 10
            fp.t.append(t)
            fp.d.append(at(lateral, t))
            fp.jerk.append(third(lateral, t))
        for dv in (-0.5, 0.5):
            tfp = copy.deepcopy(fp)
            longitudinal = quartic(0.0, p[2], p[3], 5.0 + dv, T)
            tfp.s = [at(longitudinal, t) for t in fp.t]
            Jp = sum(np.power(tfp.jerk, 2))
            Js = sum(third(longitudinal, t) ** 2 for t in fp.t)
            tfp.cd = 0.1 * Jp + 0.1 * T + tfp.d[-1] ** 2
            tfp.cv = 0.1 * Js + 0.1 * T + (5.0 - tfp.s[-1] + tfp.s[-2]) ** 2
            tfp.cf = tfp.cd + tfp.cv
            found.append(tfp)
    return found


def cost(p):
    """The least cost, and a part of the costs of all."""
    found = paths(p)
    best = min(found, key=lambda fp: fp.cf)
    x = np.zeros((len(best.s), 2))
    for i, (s, d) in enumerate(zip(best.s, best.d)):
        yaw = 0.1 * s
        x[i, 0] = math.sin(yaw) / 0.1 - d * math.sin(yaw)
        x[i, 1] = (1 - math.cos(yaw)) / 0.1 + d * math.cos(yaw)
    return best.cf + 0.01 * sum(fp.cf for fp in found) + 0.001 * np.sum(np.diff(x, axis=0) ** 2)
