"""An arm of many links in space: homogeneous transforms of Denavit and Hartenberg."""

import math

import numpy as np

LINKS = [(0.0, math.pi / 2, 0.4), (0.5, 0.0, 0.0), (0.3, -math.pi / 2, 0.1), (0.2, 0.3, 0.2)]
START = np.array([0.3, -0.4, 0.8, 0.2])


def link(theta, a, alpha, d):
    T = np.eye(4)
    T[0, 0] = math.cos(theta)
    T[0, 1] = -math.sin(theta) * math.cos(alpha)
    T[0, 2] = math.sin(theta) * math.sin(alpha)
    T[0, 3] = a * math.cos(theta)
    T[1, 0] = math.sin(theta)
    T[1, 1] = math.cos(theta) * math.cos(alpha)
    T[1, 2] = -math.cos(theta) * math.sin(alpha)
    T[1, 3] = a * math.sin(theta)
    T[2, 1] = math.sin(alpha)
    T[2, 2] = math.cos(alpha)
    T[2, 3] = d
    return T


def cost(p):
    """How far the hand is from its pose."""
    T = np.identity(4)
    for theta, (a, alpha, d) in zip(p, LINKS):
        T = T @ link(theta, a, alpha, d)
    goal = np.eye(4)
    goal[:3, 3] = [0.5, 0.4, 0.6]
    roll_pitch = np.array([math.atan2(T[2, 1], T[2, 2]), math.asin(-T[2, 0])])
    return np.sum((T[:3, 3] - goal[:3, 3]) ** 2) + 0.1 * np.sum(roll_pitch**2)
