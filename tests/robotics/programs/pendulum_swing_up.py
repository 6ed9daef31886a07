"""Swing-up of a pendulum: torques are the unknowns, states are attributes that are updated."""

import math

import numpy as np

START = 0.5 * np.sin(np.arange(15.0))


class Pendulum:
    def __init__(self, theta=math.pi, omega=0.0):
        self.theta = theta
        self.omega = omega
        self.history = [(theta, omega)]

    def step(self, torque, dt=0.1):
        torque = min(max(torque, -2.0), 2.0)
        self.omega += dt * (9.81 * math.sin(self.theta) + torque - 0.1 * self.omega)
        self.theta += dt * self.omega
        self.history.append((self.theta, self.omega))


def energy(theta, omega):
    return 0.5 * omega**2 + 9.81 * math.cos(theta)


def cost(p):
    """The missing energy at each step, the effort, and the state at the end."""
    pendulum = Pendulum()
    for torque in p:
        pendulum.step(torque)
    total = 0.0
    for theta, omega in pendulum.history:
        total += 0.1 * (energy(theta, omega) - 9.81) ** 2
    history = np.array(pendulum.history)
    last = history[-1].copy()
    last[0] %= 2 * math.pi
    return total + 0.01 * np.sum(p**2) + last @ last + history[:, 1].std()
