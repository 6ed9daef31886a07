"""Inverse kinematics of a two-link arm: the elbow found by the cosine rule, then improved."""

import math

import numpy as np

START = np.array([1.0, 0.8, 0.9, 0.7])


def inverse(x, y, l1, l2):
    c = (x**2 + y**2 - l1**2 - l2**2) / (2 * l1 * l2)
    elbow = math.acos(c)
    shoulder = math.atan2(y, x) - math.atan2(l2 * math.sin(elbow), l1 + l2 * math.cos(elbow))
    return shoulder, elbow


def forward(angles, l1, l2):
    joints = np.zeros((3, 2))
    joints[1, 0] = l1 * math.cos(angles[0])
    joints[1, 1] = l1 * math.sin(angles[0])
    joints[2, 0] = joints[1, 0] + l2 * math.cos(angles[0] + angles[1])
    joints[2, 1] = joints[1, 1] + l2 * math.sin(angles[0] + angles[1])
    return joints


def cost(p):
    """The way of the elbow and the tip while the tip goes along a circle."""
    l1, l2, x0, y0 = p
    total, before = 0.0, None
    for k in range(6):
        phi = 2 * math.pi * k / 6
        target = x0 + 0.2 * math.cos(phi), y0 + 0.2 * math.sin(phi)
        angles = np.zeros(2)
        angles[0], angles[1] = inverse(*target, l1, l2)
        joints = forward(angles, l1, l2)
        if before is not None:
            total += np.sum((joints - before) ** 2)
        before = joints.copy()
    return total
