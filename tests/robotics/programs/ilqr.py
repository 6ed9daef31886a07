"""One sweep of the iterative linear-quadratic regulator for a car: linearise, Riccati, roll out."""

import math

import numpy as np

N = 10
DT = 0.1
START = np.array([1.0, 0.5, 0.1, 0.2])


def model(x, u):
    y = x.copy()
    y[0] += DT * x[3] * math.cos(x[2])
    y[1] += DT * x[3] * math.sin(x[2])
    y[2] += DT * u[0]
    y[3] += DT * u[1]
    return y


def linearised(x):
    A = np.eye(4)
    A[0, 2] = -DT * x[3] * math.sin(x[2])
    A[0, 3] = DT * math.cos(x[2])
    A[1, 2] = DT * x[3] * math.cos(x[2])
    A[1, 3] = DT * math.sin(x[2])
    B = np.zeros((4, 2))
    B[2, 0] = DT
    B[3, 1] = DT
    return A, B


def gains(xs, Q, R):
    P = Q.copy()
    K = np.zeros((N, 2, 4))
    for k in reversed(range(N)):
        A, B = linearised(xs[k])
        K[k] = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K[k])
    return K


def cost(p):
    """The cost of the new trajectory, by the logarithms of the weights."""
    Q = np.diag([1.0, 1.0, 1.0, 1.0])
    Q[0, 0] = Q[1, 1] = p[0] ** 2
    Q[2, 2] = p[1] ** 2
    R = np.eye(2)
    R[0, 0], R[1, 1] = p[2], p[3]
    xs = np.zeros((N + 1, 4))
    xs[0] = [0.3, -0.4, 0.2, 1.0]
    for k in range(N):
        xs[k + 1] = model(xs[k], np.zeros(2))
    K = gains(xs, Q, R)
    x, total = np.array([0.3, -0.4, 0.2, 1.0]), 0.0
    for k in range(N):
        u = -K[k] @ x
        total += x @ x + 0.1 * u @ u
        x = model(x, u)
    return total + 10 * x @ x
