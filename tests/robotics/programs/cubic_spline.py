"""Natural cubic splines through way points: the linear system, positions, headings, curvatures."""

import bisect
import math

import numpy as np

START = np.array([0.0, 1.0, 2.2, 2.8, 4.0, 0.0, 0.8, 0.3, -0.5, 0.2])


class Spline:
    def __init__(self, x, y):
        self.x, self.a, self.n = x, y, len(x)
        h = np.diff(x)
        A, B = np.zeros((self.n, self.n)), np.zeros(self.n)
        A[0, 0] = A[-1, -1] = 1.0
        for i in range(1, self.n - 1):
            A[i, i - 1] = h[i - 1]
            A[i, i] = 2.0 * (h[i - 1] + h[i])
            A[i, i + 1] = h[i]
            B[i] = 3.0 * (y[i + 1] - y[i]) / h[i] - 3.0 * (y[i] - y[i - 1]) / h[i - 1]
        self.c = np.linalg.solve(A, B)
        self.b, self.d = [], []
        for i in range(self.n - 1):
            self.d.append((self.c[i + 1] - self.c[i]) / (3.0 * h[i]))
            slope = (y[i + 1] - y[i]) / h[i]
            self.b.append(slope - h[i] * (self.c[i + 1] + 2.0 * self.c[i]) / 3.0)

    def at(self, t):
        i = min(bisect.bisect(self.x, t) - 1, self.n - 2)
        dx = t - self.x[i]
        value = self.a[i] + self.b[i] * dx + self.c[i] * dx**2.0 + self.d[i] * dx**3.0
        slope = self.b[i] + 2.0 * self.c[i] * dx + 3.0 * self.d[i] * dx**2.0
        return value, slope, 2.0 * self.c[i] + 6.0 * self.d[i] * dx


def cost(p):
    """The integral of the squared curvature and of the heading along the way."""
    x, y = p[:5], p[5:]
    s = [0.0]
    for dx, dy in zip(np.diff(x), np.diff(y)):
        s.append(s[-1] + math.hypot(dx, dy))
    s = np.array(s)
    sx, sy = Spline(s, x), Spline(s, y)
    total = 0.0
    for k in range(20):
        t = s[-1] * k / 20
        _, dx, ddx = sx.at(t)
        _, dy, ddy = sy.at(t)
        curvature = (ddy * dx - ddx * dy) / (dx**2 + dy**2) ** 1.5
        total += (curvature**2 + 0.1 * math.atan2(dy, dx) ** 2) * s[-1] / 20
    return total
