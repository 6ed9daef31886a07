"""A quadrotor that follows a circle: rotation matrices, a cascade of controllers."""

import math

import numpy as np

START = np.array([1.5, 1.2, 6.0, 3.0])


def rotation(roll, pitch, yaw):
    R = np.zeros((3, 3))
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    R[0, :] = [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr]
    R[1, :] = [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr]
    R[2, :] = [-sp, cp * sr, cp * cr]
    return R


class Quadrotor:
    def __init__(self):
        self.position = np.zeros(3)
        self.velocity = np.zeros(3)
        self.angles = np.zeros(3)
        self.rates = np.zeros(3)
        self.mass = 0.2

    def step(self, thrust, torque, dt):
        force = rotation(*self.angles) @ np.array([0.0, 0.0, thrust])
        acceleration = force / self.mass
        acceleration[2] -= 9.81
        self.velocity += acceleration * dt
        self.position += self.velocity * dt
        self.rates += torque * dt
        self.angles += self.rates * dt


def cost(p):
    """The squared distance to the circle, by the gains."""
    kp, kd, ka, kr = p
    quad, dt, total = Quadrotor(), 0.05, 0.0
    for step in range(25):
        t = step * dt
        goal = np.array([math.sin(t), 1 - math.cos(t), 0.5 * t])
        wanted = kp * (goal - quad.position) - kd * quad.velocity
        thrust = quad.mass * (9.81 + wanted[2])
        angles = np.zeros(3)
        angles[0] = -wanted[1] / 9.81
        angles[1] = wanted[0] / 9.81
        torque = ka * (angles - quad.angles) - kr * quad.rates
        quad.step(thrust, torque, dt)
        error = goal - quad.position
        total += error.dot(error) * dt
    return total
