"""Landing of a rocket: mass, height, attitude under thrust, integrated by the midpoint rule."""

import numpy as np

STEPS = 20
START = np.concatenate([np.full(STEPS, 12.0), np.linspace(0.05, -0.05, STEPS)])


class Rocket:
    gravity = 9.81
    consumption = 0.01
    arm = 0.5

    def derivative(self, x, u):
        f = np.zeros(7)
        f[0] = -self.consumption * u[0]
        f[1:3] = x[3:5]
        f[3] = u[0] / x[0] * np.sin(x[5] + u[1])
        f[4] = u[0] / x[0] * np.cos(x[5] + u[1]) - self.gravity
        f[5] = x[6]
        f[6] = -self.arm * u[0] * np.sin(u[1]) / x[0]
        return f


def cost(p):
    """Fuel and the state at the end."""
    rocket, dt = Rocket(), 0.1
    X = np.empty((7, STEPS + 1))
    X[:, 0] = [1.2, 0.4, 10.0, -0.2, -3.0, 0.1, 0.0]
    U = np.zeros((2, STEPS))
    U[0, :] = p[:STEPS]
    U[1, :] = p[STEPS:]
    for k in range(STEPS):
        half = X[:, k] + dt / 2 * rocket.derivative(X[:, k], U[:, k])
        X[:, k + 1] = X[:, k] + dt * rocket.derivative(half, U[:, k])
    end = X[1:, STEPS]
    return end @ np.diag([1.0, 1.0, 2.0, 2.0, 5.0, 5.0]) @ end - X[0, STEPS]
