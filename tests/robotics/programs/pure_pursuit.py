"""Pure pursuit with a distance of look-ahead that depends on the speed."""

import math
from dataclasses import dataclass

import numpy as np

START = np.array([0.1, 1.2, 1.0])


@dataclass
class Vehicle:
    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0
    v: float = 0.0

    def move(self, a, delta, dt=0.1):
        self.x = self.x + self.v * math.cos(self.yaw) * dt
        self.y = self.y + self.v * math.sin(self.yaw) * dt
        self.yaw = self.yaw + self.v / 2.9 * math.tan(delta) * dt
        self.v = self.v + a * dt


class Course:
    def __init__(self):
        self.cx = np.arange(0, 15, 0.5)
        self.cy = np.array([math.sin(ix / 5.0) * ix / 2.0 for ix in self.cx])
        self.old = None

    def target(self, vehicle, k, base):
        if self.old is None:
            d = [math.hypot(vehicle.x - x, vehicle.y - y) for x, y in zip(self.cx, self.cy)]
            self.old = int(np.argmin(d))
        lf = k * vehicle.v + base
        index = self.old
        while index + 1 < len(self.cx):
            distance = math.hypot(vehicle.x - self.cx[index], vehicle.y - self.cy[index])
            if lf <= distance:
                break
            index += 1
        self.old = max(index, self.old)
        return self.old, lf


def cost(p):
    """Deviation from the course at the end of each step, by gain, base and speed gain."""
    vehicle, course = Vehicle(0.0, -1.0, 0.0, 2.0), Course()
    deviations = np.zeros(25)
    for step in range(25):
        index, lf = course.target(vehicle, p[0], p[1])
        tx, ty = course.cx[index], course.cy[index]
        alpha = math.atan2(ty - vehicle.y, tx - vehicle.x) - vehicle.yaw
        delta = math.atan2(2.0 * 2.9 * math.sin(alpha) / lf, 1.0)
        vehicle.move(p[2] * (3.0 - vehicle.v), delta)
        deviations[step] = vehicle.y - np.interp(vehicle.x, course.cx, course.cy)
    return deviations @ deviations
