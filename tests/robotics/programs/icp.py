"""Iterative closest points: correspondences by distance, the rotation by singular values."""

import math

import numpy as np

START = np.array([0.25, 0.3, -0.2])


def cloud():
    t = np.linspace(0, 2 * math.pi, 15)[:-1]
    return np.vstack((2 * np.cos(t) + 0.3 * np.cos(3 * t), np.sin(t) + 0.1 * t))


def matched(previous, current):
    indexes = np.zeros(current.shape[1], dtype=int)
    error = 0.0
    for i in range(current.shape[1]):
        d = np.linalg.norm(previous - current[:, i].reshape(2, 1), axis=0)
        indexes[i] = np.argmin(d)
        error += d[indexes[i]] ** 2
    return indexes, error


def motion(previous, current):
    pm, cm = np.mean(previous, axis=1), np.mean(current, axis=1)
    W = (current - cm[:, np.newaxis]) @ (previous - pm[:, np.newaxis]).T
    u, s, vh = np.linalg.svd(W)
    R = (u @ vh).T
    return R, pm - R @ cm


def update(H, R, t):
    h = np.zeros((3, 3))
    h[0:2, 0:2] = R
    h[0:2, 2] = t
    h[2, 2] = 1.0
    return h if H is None else H @ h


def cost(p):
    """What is left of a known motion after two iterations, with an anisotropic scale."""
    points = cloud()
    R = np.array([[math.cos(p[0]), -math.sin(p[0])], [math.sin(p[0]), math.cos(p[0])]])
    moved = R @ points + p[1:].reshape(2, 1)
    moved[0] *= 1.05
    H, errors = None, []
    for _ in range(2):
        indexes, error = matched(points, moved)
        errors.append(error)
        Rt, Tt = motion(points[:, indexes], moved)
        moved = Rt @ moved + Tt[:, np.newaxis]
        H = update(H, Rt, Tt)
    return sum(errors) + np.sum((H - np.eye(3)) ** 2)
