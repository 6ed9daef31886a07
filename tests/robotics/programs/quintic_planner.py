"""Quintic polynomials between two states: time, jerk and acceleration of a manoeuvre."""

import math

import numpy as np

START = np.array([0.0, 1.0, 0.2, 5.0, 0.5, 0.1, 4.0])


class QuinticPolynomial:
    def __init__(self, xs, vxs, axs, xe, vxe, axe, T):
        self.a0, self.a1, self.a2 = xs, vxs, axs / 2.0
        A = np.array(
            [
                [T**3, T**4, T**5],
                [3 * T**2, 4 * T**3, 5 * T**4],
                [6 * T, 12 * T**2, 20 * T**3],
            ]
        )
        b = np.array(
            [
                xe - self.a0 - self.a1 * T - self.a2 * T**2,
                vxe - self.a1 - 2 * self.a2 * T,
                axe - 2 * self.a2,
            ]
        )
        x = np.linalg.solve(A, b)
        self.a3, self.a4, self.a5 = x[0], x[1], x[2]

    def point(self, t):
        powers = np.ones(6)
        for k in range(1, 6):
            powers[k] = powers[k - 1] * t
        return powers @ [self.a0, self.a1, self.a2, self.a3, self.a4, self.a5]

    def acceleration(self, t):
        return 2 * self.a2 + 6 * self.a3 * t + 12 * self.a4 * t**2 + 20 * self.a5 * t**3

    def jerk(self, t):
        return 6 * self.a3 + 24 * self.a4 * t + 60 * self.a5 * t**2


def cost(p):
    """Jerk and acceleration along both axes, and the time."""
    xs, vs, yaw, xe, ve, ye, T = p
    px = QuinticPolynomial(xs, vs * math.cos(yaw), 0.0, xe, ve, 0.0, T)
    py = QuinticPolynomial(0.0, vs * math.sin(yaw), 0.0, ye, 0.0, 0.0, T)
    times, jerks, accelerations = [], [], []
    for k in range(10):
        t = T * k / 10
        times.append(t)
        jerks.append(np.hypot(px.jerk(t), py.jerk(t) + 0.1))
        accelerations.append(math.hypot(px.acceleration(t), py.acceleration(t) + 0.1))
    way = np.array([px.point(t) for t in times])
    return np.sum(np.array(jerks) ** 2) + max(accelerations) + 0.1 * T + 0.01 * np.sum(way**2)
