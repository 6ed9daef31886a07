"""Calibration of a differential drive from encoders: wheel radii, track width, and a bias."""

import math

import numpy as np

START = np.array([0.052, 0.049, 0.31, 0.01])


def encoders():
    k = np.arange(40)
    return np.stack([6 + np.sin(k / 5), 6 + np.cos(k / 7)], axis=1)


def odometry(p, ticks, dt=0.1):
    left, right, width, bias = p
    track = np.zeros((len(ticks) + 1, 3))
    pose = [0.0, 0.0, 0.0]
    for k, (wl, wr) in enumerate(ticks):
        v = (left * wl + right * wr) / 2
        w = (right * wr - left * wl) / width + bias
        pose[2] += w * dt / 2
        pose[0] += v * dt * math.cos(pose[2])
        pose[1] += v * dt * math.sin(pose[2])
        pose[2] += w * dt / 2
        track[k + 1, :] = pose
    return track


def cost(p):
    """Residuals to landmarks seen on the way, weighted down where they are large."""
    expected = odometry(np.array([0.05, 0.05, 0.3, 0.0]), encoders())
    track = odometry(p, encoders())
    residuals = np.array([])
    for k in range(0, len(track), 10):
        d = track[k, :2] - expected[k, :2]
        residuals = np.append(residuals, d)
        residuals = np.append(residuals, math.sin(track[k, 2] - expected[k, 2]))
    weights = np.ones(len(residuals))
    for i, r in enumerate(residuals):
        if abs(r) > 0.05:
            weights[i] = 0.05 / abs(r)
    return np.sum(weights * residuals**2) * 100
