"""The likelihood of an extended Kalman filter for a vehicle with position measurements."""

import math

import numpy as np

DT = 0.1
STEPS = 15
START = np.array([0.1, 0.02, 0.3, 1.0, 0.1])


def motion_model(x, u):
    F = np.eye(4)
    F[3, 3] = 0
    B = np.zeros((4, 2))
    B[0, 0] = DT * math.cos(x[2, 0])
    B[1, 0] = DT * math.sin(x[2, 0])
    B[2, 1] = DT
    B[3, 0] = 1.0
    return F @ x + B @ u


def jacob_f(x, u):
    jF = np.eye(4)
    jF[0, 2] = -DT * u[0, 0] * math.sin(x[2, 0])
    jF[0, 3] = DT * math.cos(x[2, 0])
    jF[1, 2] = DT * u[0, 0] * math.cos(x[2, 0])
    jF[1, 3] = DT * math.sin(x[2, 0])
    return jF


def observations():
    rng = np.random.RandomState(3)
    truth = [(DT * k * math.cos(0.01 * k), DT * k * math.sin(0.01 * k)) for k in range(STEPS)]
    return np.array(truth) + 0.2 * rng.randn(STEPS, 2)


def cost(p):
    """The negative logarithm of the likelihood, by the deviations of noise and the inputs."""
    Q = np.eye(4)
    for i in range(2):
        Q[i, i] = p[0] ** 2
    Q[2, 2] = p[1] ** 2
    R = p[2] ** 2 * np.eye(2)
    H = np.zeros((2, 4))
    H[0, 0] = H[1, 1] = 1
    u = np.zeros((2, 1))
    u[0, 0], u[1, 0] = p[3], p[4]
    x, P = np.zeros((4, 1)), np.eye(4)
    total = 0.0
    for z in observations():
        jF = jacob_f(x, u)
        x = motion_model(x, u)
        P = jF @ P @ jF.T + Q
        y = z.reshape(2, 1) - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ y
        P = (np.eye(4) - K @ H) @ P
        total += 0.5 * (y.T @ np.linalg.inv(S) @ y)[0, 0]
        total += 0.5 * math.log(np.linalg.det(2 * math.pi * S))
    return total
