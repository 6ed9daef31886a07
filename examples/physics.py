"""Aiming a throw by gradients through a simulation whose length depends on the throw.

What it shows: a `while` loop on values (the ball flies until it lands), air drag, wind, and
Newton's method on the angle and speed; the gradient of the landing point is right although every
throw takes another number of steps, because the last step is interpolated.

    python examples/physics.py --target 60
"""

import matplotlib.pyplot as plt
import numpy as np

import ferrograd as fg
import ferrograd.numpy as fnp
import support

STEP, DRAG, GRAVITY, WIND, NEAR = 0.01, 0.01, 9.81, -3.0, 1e-6


def simulate_throw(angle, speed):
    """Landing distance, flight time and the path, from the edge of a 2 m wall."""
    x, y, time = 0.0, 2.0, 0.0
    vx, vy = speed * fnp.cos(angle), speed * fnp.sin(angle)
    path = [(x, y)]
    while True:
        air = fnp.sqrt((vx - WIND) ** 2 + vy**2)
        vx = vx - STEP * DRAG * air * (vx - WIND)
        vy = vy - STEP * (GRAVITY + DRAG * air * vy)
        if y + STEP * vy < 0:
            break
        x, y, time = x + STEP * vx, y + STEP * vy, time + STEP
        path.append((x, y))
    rest = -y / vy
    return x + rest * vx, time + rest, path


def make_miss(target: float):
    """Squared distance from the target."""

    def miss(aim):
        distance, _, _ = simulate_throw(aim[0], aim[1])
        return (distance - target) ** 2

    return miss


def find_aim(target: float, aim: np.ndarray) -> list[np.ndarray]:
    """The aims that damped Newton steps visit, until one lands within NEAR of the target."""
    miss = make_miss(target)
    slope, curvature = fg.value_and_grad(miss), fg.hessian(miss)
    aims, damping = [aim], 1e-2
    for _ in range(60):
        value, gradient = slope(aims[-1])
        if np.sqrt(value) < NEAR:
            break
        values, vectors = np.linalg.eigh(curvature(aims[-1]))
        move = vectors @ ((vectors.T @ gradient) / (np.abs(values) + damping))
        if miss(aims[-1] - move) < value:
            aims.append(aims[-1] - move)
            damping /= 10
        else:
            damping *= 10
    return aims


def main() -> None:
    """Aims, prints each throw, draws them."""
    options = support.parse_options("differentiable physics with a while loop", target=60)
    aims = find_aim(float(options.target), np.array([0.6, 20.0]))
    figure, axes = plt.subplots(figsize=(7, 4))
    for i, aim in enumerate(aims):
        distance, time, path = simulate_throw(*aim)
        print(
            f"throw {i}: {np.degrees(aim[0]):6.2f}°, {aim[1]:6.2f} m/s, lands at {distance:.4f} m"
        )
        x, y = np.array(path, dtype=float).T
        last = i == len(aims) - 1
        axes.plot(x, y, color="C3" if last else "gray", lw=2 if last else 0.7)
    print(f"misses by: {abs(distance - options.target):.2e} m after {time:.2f} s of flight")
    axes.axvline(options.target, ls=":", color="black")
    axes.set(xlabel="distance (m)", ylabel="height (m)", title="Throws, the last one in red")
    support.save_figure(figure, options.out, "physics.png")


if __name__ == "__main__":
    main()
