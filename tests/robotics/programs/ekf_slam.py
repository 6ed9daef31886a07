"""EKF-SLAM: a growing state of a vehicle and landmarks, with the likelihood of what it sees."""

import math

import numpy as np

DT = 0.5
LANDMARKS = np.array([[4.0, 1.0], [2.0, 4.0], [6.0, 3.0]])
START = np.array([0.2, 0.05, 0.3, 0.1, 1.0])


def pi_2_pi(angle):
    return (angle + math.pi) % (2 * math.pi) - math.pi


def seen():
    frames, pose = [], np.zeros(3)
    for k in range(5):
        pose += DT * np.array([1.1 * math.cos(pose[2]), 1.1 * math.sin(pose[2]), 0.12])
        d = LANDMARKS - pose[:2]
        z = np.zeros((3, 3))
        z[:, 0] = np.hypot(d[:, 0], d[:, 1]) + 0.05 * np.cos(k + np.arange(3))
        z[:, 1] = np.arctan2(d[:, 1], d[:, 0]) - pose[2]
        z[:, 2] = np.arange(3)
        frames.append(z[: 2 + (k > 1)])
    return frames


def predict(x, P, v, w, Q):
    G = np.eye(len(x))
    G[0, 2] = -DT * v * math.sin(x[2])
    G[1, 2] = DT * v * math.cos(x[2])
    x = x.copy()
    x[0] += DT * v * math.cos(x[2])
    x[1] += DT * v * math.sin(x[2])
    x[2] = pi_2_pi(x[2] + DT * w)
    P = G @ P @ G.T
    P[:3, :3] += Q
    return x, P


def extended(x, P, z):
    angle = x[2] + z[1]
    x = np.hstack((x, [x[0] + z[0] * math.cos(angle), x[1] + z[0] * math.sin(angle)]))
    n = P.shape[0]
    bigger = np.zeros((n + 2, n + 2))
    bigger[:n, :n] = P
    bigger[n:, n:] = np.eye(2)
    return x, bigger


def jacob_h(x, place):
    d = x[place : place + 2] - x[:2]
    q = d @ d
    r = math.sqrt(q)
    H = np.zeros((2, len(x)))
    H[:, 0] = [-d[0] / r, d[1] / q]
    H[:, 1] = [-d[1] / r, -d[0] / q]
    H[1, 2] = -1
    H[:, place] = [d[0] / r, -d[1] / q]
    H[:, place + 1] = [d[1] / r, d[0] / q]
    return H, np.array([r, pi_2_pi(math.atan2(d[1], d[0]) - x[2])])


def cost(p):
    """The negative logarithm of the likelihood, by the deviations of noise and the speed."""
    Q, R = np.diag([0.0, 0.0, 0.0]), np.zeros((2, 2))
    Q = np.array(Q)
    Q[0, 0] = Q[1, 1] = p[0] ** 2
    Q[2, 2] = p[1] ** 2
    R[0, 0], R[1, 1] = p[2] ** 2, p[3] ** 2
    x, P = np.zeros(3), np.eye(3) * 0.01
    total, places = 0.0, {}
    for frame in seen():
        x, P = predict(x, P, p[4], 0.12, Q)
        for z in frame:
            key = int(z[2])
            if key not in places:
                places[key] = len(x)
                x, P = extended(x, P, z)
            H, expected = jacob_h(x, places[key])
            y = z[:2] - expected
            y[1] = pi_2_pi(y[1])
            S = H @ P @ H.T + R
            K = P @ H.T @ np.linalg.inv(S)
            x = x + K @ y
            P = P - K @ H @ P
            total += 0.5 * y @ np.linalg.solve(S, y) + 0.5 * math.log(np.linalg.det(S))
    return total
