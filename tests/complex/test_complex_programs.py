"""Random programs of views of complex numbers and writes through them."""

from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import ferrograd as fg

# With an ellipsis NumPy gives a view of one element, too.
INDICES: list[Any] = [
    ...,
    slice(1, None),
    slice(None, None, -1),
    (0, ...),
    (-1, ...),
    (..., 0),
    (slice(None), 1),
]


def pairs(z: Any) -> Any:
    """NumPy's view of complex numbers as pairs, whatever their strides."""
    part = z.real
    return np.lib.stride_tricks.as_strided(part, (*z.shape, 2), (*part.strides, part.itemsize))


class Ours:
    """The steps of a program on tensors. An operand is copied: it may be what is changed next."""

    pairs = staticmethod(fg.view_as_real)
    numbers = staticmethod(fg.view_as_complex)

    @staticmethod
    def copied(x: Any) -> Any:
        return x.clone()


class Theirs:
    """The same on arrays."""

    pairs = staticmethod(pairs)

    @staticmethod
    def numbers(x: Any) -> Any:
        return x.view(np.result_type(x, 1j))[..., 0]

    @staticmethod
    def copied(x: Any) -> Any:
        return x.copy()


def is_pairs(x: Any) -> bool:
    item = x.dtype.itemsize
    return (
        x.dtype.kind == "f"
        and x.ndim > 1
        and x.shape[-1] == 2
        and x.strides[-1] == item
        and all(s % (2 * item) == 0 for s in x.strides[:-1])
    )


def looked(to: Any, x: Any, how: int, index: Any) -> Any:
    """A view of `x`; `x` itself where that kind of view does not fit."""
    is_complex = x.dtype.kind == "c"
    if how == 0 and is_complex:
        return x.real
    if how == 1 and is_complex:
        return x.imag
    if how == 2 and is_complex:
        return to.pairs(x)
    if how == 3 and is_pairs(x):
        try:
            return to.numbers(x)
        except fg.errors.ShapeError:  # begins with an imaginary part
            return x
    if how == 4:
        return x.T
    if how == 5:
        try:
            return x[index]
        except IndexError:  # too few axes or elements
            return x
    return x


def run(to: Any, base: Any, program: list[tuple[int, ...]], weights: Any) -> Any:
    """Runs a program; a real number that depends on every view at the end."""
    known = [base]
    for what, a, b, index, number in program:
        x, y = known[a % len(known)], known[b % len(known)]
        if what < 6:
            known.append(looked(to, x, what, INDICES[index % len(INDICES)]))
        elif what == 6:
            x *= number / 4
        elif what == 7 and (x.shape == y.shape or y.ndim == 0) and fits(x, y):
            x[...] = to.copied(y) * 0.5
        elif what == 8 and (x.shape == y.shape or y.ndim == 0) and fits(x, y):
            x += to.copied(y)
        elif what == 9 and (x.shape == y.shape or y.ndim == 0) and fits(x, y):
            x *= to.copied(y)
        elif what == 10:
            x[...] = number
    total = 0.0
    for x, weight in zip(known, weights, strict=False):
        part = to.copied(x) * weight
        total = total + (part.real.sum() if part.dtype.kind == "c" else part.sum())
    return total


def fits(x: Any, y: Any) -> bool:
    return x.dtype.kind == "c" or y.dtype.kind == "f"


def begins_evenly(program: list[tuple[int, ...]], base: Any) -> bool:
    """Whether no view as complex numbers begins with an imaginary part, which only NumPy shows."""
    known = [base]
    start = base.__array_interface__["data"][0]
    for what, a, _, index, _ in program:
        if what < 6:
            x = known[a % len(known)]
            if what == 3 and is_pairs(x) and (x.__array_interface__["data"][0] - start) % 16:
                return False
            known.append(looked(Theirs, x, what, INDICES[index % len(INDICES)]))
    return True


steps = st.lists(
    st.tuples(
        st.integers(0, 10),
        st.integers(0, 7),
        st.integers(0, 7),
        st.integers(0, 6),
        st.integers(-6, 6),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(steps, st.booleans(), st.integers(0, 5))
def test_random_programs_of_views_and_writes(
    program: list[tuple[int, ...]], paired: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(20)
    parts = rng.uniform(-1, 1, (2, 3, 2))

    def start() -> Any:
        copy = parts.copy()
        return copy if paired else copy.view(complex)[..., 0]

    if not begins_evenly(program, start()):
        return

    def theirs(flat: Any) -> Any:
        base = flat.reshape(parts.shape).copy()
        return run(Theirs, base if paired else base.view(complex)[..., 0], program, weights)

    def ours(x: Any) -> Any:
        return run(Ours, x * 1, program, weights)

    x = fg.tensor(start(), requires_grad=True)
    value = ours(x)
    want = theirs(parts.ravel())
    np.testing.assert_allclose(value.detach().numpy(), want, rtol=1e-10, atol=1e-10)
    with fg.no_grad():
        np.testing.assert_array_equal(ours(x).numpy(), value.detach().numpy())
    if not value.requires_grad or not np.isfinite(want) or abs(want) > 1e4:
        return
    slope = fg.autograd.grad(value, x, allow_unused=True)[0]
    got = np.zeros(parts.size) if slope is None else slope.numpy().ravel().view(float)
    for i in range(parts.size):
        step = np.zeros(parts.size)
        step[i] = 1e-6
        found = (theirs(parts.ravel() + step) - theirs(parts.ravel() - step)) / 2e-6
        np.testing.assert_allclose(got[i], found, rtol=1e-4, atol=1e-4 * (1 + abs(want)))
