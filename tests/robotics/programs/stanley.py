"""Tuning of a Stanley controller by a simulation of the car."""

import math

import numpy as np

START = np.array([0.8, 1.0, 2.4])


class State:
    def __init__(self, x, y, yaw, v, wheelbase):
        self.x, self.y, self.yaw, self.v = x, y, yaw, v
        self.wheelbase = wheelbase

    def update(self, acceleration, delta):
        delta = np.clip(delta, -math.radians(30.0), math.radians(30.0))
        self.x += self.v * math.cos(self.yaw) * 0.1
        self.y += self.v * math.sin(self.yaw) * 0.1
        self.yaw += self.v / self.wheelbase * math.tan(delta) * 0.1
        self.yaw = (self.yaw + math.pi) % (2 * math.pi) - math.pi
        self.v += acceleration * 0.1


class Recorder:
    def __init__(self):
        self.t, self.x, self.y, self.error = [], [], [], []

    def append(self, t, state, error):
        self.t.append(t)
        self.x.append(state.x)
        self.y.append(state.y)
        self.error.append(error)


def nearest(state, cx, cy):
    fx = state.x + state.wheelbase * math.cos(state.yaw)
    fy = state.y + state.wheelbase * math.sin(state.yaw)
    dx = [fx - x for x in cx]
    dy = [fy - y for y in cy]
    index = int(np.argmin(np.hypot(dx, dy)))
    side = np.array([-math.cos(state.yaw + math.pi / 2), -math.sin(state.yaw + math.pi / 2)])
    return index, np.dot([dx[index], dy[index]], side)


def cost(p):
    """Squared deviation from the course, by gains and wheelbase."""
    k, kp, wheelbase = p
    cx = np.arange(0, 20, 0.25)
    cy = np.sin(cx / 4.0)
    cyaw = np.arctan2(np.cos(cx / 4.0) / 4.0, np.ones(len(cx)))
    state, log = State(0.0, 0.6, 0.2, 3.0, wheelbase), Recorder()
    for step in range(30):
        index, error = nearest(state, cx, cy)
        delta = cyaw[index] - state.yaw + math.atan2(k * error, state.v)
        state.update(kp * (4.0 - state.v), delta)
        log.append(0.1 * step, state, error)
    return np.sum(np.array(log.error) ** 2) + 0.01 * (log.y[-1] - math.sin(5.0)) ** 2
