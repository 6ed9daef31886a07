"""A cart with a pole under state feedback, integrated by Runge and Kutta's method."""

import numpy as np

START = np.array([-1.0, -2.2, 28.0, 7.0])
M, m, length, g = 1.0, 0.3, 1.0, 9.8


def derivative(x, u):
    s, c = np.sin(x[2]), np.cos(x[2])
    A = np.zeros((2, 2))
    A[0, 0] = M + m
    A[0, 1] = A[1, 0] = m * length * c
    A[1, 1] = m * length**2
    b = np.zeros(2)
    b[0] = u + m * length * x[3] ** 2 * s
    b[1] = m * g * length * s
    dx = np.zeros_like(x)
    dx[[0, 2]] = x[[1, 3]]
    dx[[1, 3]] = np.linalg.solve(A, b)
    return dx


def cost(p):
    """The integral of the squared state and input, by the gains."""
    x, dt = np.array([0.3, 0.0, 0.2, -0.1]), 0.05
    weights = np.array([1.0, 0.1, 5.0, 0.1])
    total = 0.0
    for _ in range(30):
        u = -p @ x
        k1 = derivative(x, u)
        k2 = derivative(x + dt / 2 * k1, u)
        k3 = derivative(x + dt / 2 * k2, u)
        k4 = derivative(x + dt * k3, u)
        x += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        total += dt * (np.sum(weights * x**2) + 0.01 * u**2)
    return total
