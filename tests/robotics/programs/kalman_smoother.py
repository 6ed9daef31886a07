"""A Kalman filter forward, Rauch, Tung and Striebel's smoother backward, in preallocated arrays."""

import numpy as np

STEPS = 12
START = np.array([0.3, 0.5, 0.9])


def measured():
    rng = np.random.default_rng(5)
    return np.cumsum(rng.normal(size=STEPS)) * 0.3 + rng.normal(size=STEPS) * 0.5


def cost(p):
    """The negative logarithm of the likelihood and the roughness of the smoothed track."""
    q, r, decay = p
    F = np.array([[1.0, 0.1], [0.0, 1.0]])
    F[1, 1] = decay
    H = np.array([[1.0, 0.0]])
    Q = q**2 * np.array([[0.1**3 / 3, 0.1**2 / 2], [0.1**2 / 2, 0.1]])
    Q += 1e-3 * np.eye(2)
    x, P = np.zeros((STEPS, 2)), np.zeros((STEPS, 2, 2))
    xp, Pp = np.zeros_like(x), np.zeros_like(P)
    now, cov, loss = np.zeros(2), np.eye(2), 0.0
    for k, z in enumerate(measured()):
        xp[k] = F @ now
        Pp[k] = F @ cov @ F.T + Q
        S = H @ Pp[k] @ H.T + r**2
        y = z - H @ xp[k]
        K = Pp[k] @ H.T / S
        x[k] = xp[k] + K @ y
        P[k] = (np.eye(2) - K @ H) @ Pp[k]
        loss += 0.5 * (y[0] ** 2 / S[0, 0] + np.log(S[0, 0]))
        now, cov = x[k], P[k]
    xs, Ps = x.copy(), P.copy()
    for k in range(STEPS - 2, -1, -1):
        C = P[k] @ F.T @ np.linalg.inv(Pp[k + 1])
        xs[k] += C @ (xs[k + 1] - xp[k + 1])
        Ps[k] += C @ (Ps[k + 1] - Pp[k + 1]) @ C.T
    return loss + np.sum(np.diff(xs[:, 0]) ** 2) + np.trace(Ps.sum(axis=0))
