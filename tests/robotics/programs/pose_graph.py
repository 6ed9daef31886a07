"""A graph of poses: the normal equations summed block by block, one step of Gauss and Newton."""

import math

import numpy as np

START = np.array([1.0, 0.3, 0.5])
EDGES = [(0, 1, 1.0, 0.1, 0.3), (1, 2, 1.1, 0.0, 0.4), (2, 3, 0.9, 0.2, 0.2), (0, 3, 2.4, 1.5, 0.8)]


class Edge:
    def __init__(self, i, j, z):
        self.i, self.j = i, j
        self.z = z
        self.e = np.zeros(3)
        self.omega = np.zeros((3, 3))


def rotation(angle):
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


def jacobians(a, b):
    s, c = math.sin(a[2]), math.cos(a[2])
    d = b - a
    A, B = -np.eye(3), np.eye(3)
    A[:2, :2] = -rotation(a[2]).T
    A[0, 2] = -s * d[0] + c * d[1]
    A[1, 2] = -c * d[0] - s * d[1]
    B[:2, :2] = rotation(a[2]).T
    return A, B


def step(poses, edges):
    n = 3 * len(poses)
    H, b = np.zeros((n, n)), np.zeros(n)
    H[:3, :3] = 1e3 * np.eye(3)
    for edge in edges:
        A, B = jacobians(poses[edge.i], poses[edge.j])
        i, j = 3 * edge.i, 3 * edge.j
        H[i : i + 3, i : i + 3] += A.T @ edge.omega @ A
        H[i : i + 3, j : j + 3] += A.T @ edge.omega @ B
        H[j : j + 3, i : i + 3] += B.T @ edge.omega @ A
        H[j : j + 3, j : j + 3] += B.T @ edge.omega @ B
        np.add.at(b, np.arange(i, i + 3), A.T @ edge.omega @ edge.e)
        np.add.at(b, np.arange(j, j + 3), B.T @ edge.omega @ edge.e)
    return np.linalg.solve(H, -b).reshape(len(poses), 3)


def cost(p):
    """The errors after one step, by the weights of the edges and a distance measured."""
    poses = np.array([[0.0, 0.0, 0.0], [0.9, 0.2, 0.2], [1.8, 0.6, 0.6], [2.3, 1.4, 0.9]])
    edges = []
    for i, j, x, y, yaw in EDGES:
        edge = Edge(i, j, np.array([x, y, yaw]))
        edge.omega[0, 0] = edge.omega[1, 1] = p[0]
        edge.omega[2, 2] = p[1]
        edges.append(edge)
    edges[-1].z[1] += p[2]
    total = 0.0
    for _ in range(2):
        for edge in edges:
            d = poses[edge.j] - poses[edge.i]
            edge.e[:2] = rotation(poses[edge.i, 2]).T @ d[:2] - edge.z[:2]
            edge.e[2] = math.sin(d[2] - edge.z[2])
            total += edge.e @ edge.omega @ edge.e
        poses += step(poses, edges)
    return total
