"""Model-predictive control of a kinematic bicycle along a course."""

import math

import numpy as np

HORIZON = 8
DT = 0.2
WHEELBASE = 2.5
START = np.tile([0.3, 0.05], HORIZON)


class State:
    def __init__(self, x=0.0, y=0.0, yaw=0.0, v=0.0):
        self.x = x
        self.y = y
        self.yaw = yaw
        self.v = v

    def update(self, a, delta):
        delta = np.clip(delta, -0.6, 0.6)
        self.x += self.v * math.cos(self.yaw) * DT
        self.y += self.v * math.sin(self.yaw) * DT
        self.yaw += self.v / WHEELBASE * math.tan(delta) * DT
        self.v += a * DT


def reference():
    ref = np.zeros((4, HORIZON + 1))
    for k in range(HORIZON + 1):
        s = 3.0 * k * DT
        ref[0, k] = s
        ref[1, k] = 0.5 * math.sin(s / 2)
        ref[2, k] = 3.0
        ref[3, k] = math.atan2(0.25 * math.cos(s / 2), 1.0)
    return ref


def predict(p):
    state = State(0.1, -0.2, 0.0, 2.5)
    path = np.zeros((4, HORIZON + 1))
    for k in range(HORIZON + 1):
        path[0, k], path[1, k], path[2, k], path[3, k] = state.x, state.y, state.v, state.yaw
        if k < HORIZON:
            state.update(p[2 * k], p[2 * k + 1])
    return path


def cost(p):
    """Deviations from the course, inputs and their changes."""
    Q, R, Rd = np.diag([1.0, 1.0, 0.5, 0.5]), np.diag([0.01, 0.1]), np.diag([0.01, 1.0])
    ref, path = reference(), predict(p)
    total = 0.0
    for k in range(1, HORIZON + 1):
        e = path[:, k] - ref[:, k]
        total += e @ Q @ e
    u = p.reshape(HORIZON, 2)
    for k in range(HORIZON):
        total += u[k] @ R @ u[k]
        if k:
            d = u[k] - u[k - 1]
            total += d @ Rd @ d
    return total
