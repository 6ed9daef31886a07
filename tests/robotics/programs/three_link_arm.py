"""A three-link arm that reaches for a goal by steps of the transposed Jacobian."""

import numpy as np

START = np.array([0.9, 0.7, 0.4, 1.2, 0.9])


class Arm:
    def __init__(self, lengths):
        self.lengths = lengths
        self.angles = np.array([0.3, 0.2, 0.1])
        self.points = np.zeros((4, 2))
        self.update()

    def update(self):
        heading = 0.0
        for i in range(3):
            heading += self.angles[i]
            self.points[i + 1, 0] = self.points[i, 0] + self.lengths[i] * np.cos(heading)
            self.points[i + 1, 1] = self.points[i, 1] + self.lengths[i] * np.sin(heading)

    def jacobian(self):
        J = np.zeros((2, 3))
        for i in range(3):
            d = self.points[3] - self.points[i]
            J[0, i] = -d[1]
            J[1, i] = d[0]
        return J

    def step(self, goal, gain):
        error = goal - self.points[3]
        self.angles += gain * self.jacobian().T @ error
        self.update()
        return error


def cost(p):
    """The squared errors on the way to the goal, by the lengths and the goal."""
    arm = Arm(p[:3])
    errors = np.zeros(12)
    for k in range(12):
        e = arm.step(p[3:], 0.15)
        errors[k] = e @ e
    return errors.sum()
