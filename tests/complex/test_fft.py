"""Transforms: values against NumPy and SciPy over many lengths, layouts, dtypes; errors; routes.

Derivatives: `test_fft_derivatives.py`.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft

import ferrograd as fg
import ferrograd.numpy as anp
import ferrograd.scipy.fft as sfft

PRIMES = (137, 149, 211, 257, 331, 499, 503, 769, 997, 1009, 1499, 2003, 4099, 7919, 10007, 17389)
POWERS = (256, 512, 1024, 2048, 4096, 8192, 16384, 243, 729, 2187, 6561, 625, 3125, 15625, 343)
OTHERS = (2401, 16807, 1331, 14641, 169, 2197, 289, 4913, 361, 6859)
MIXED = (132, 180, 210, 360, 420, 720, 1000, 1001, 1155, 1260, 1500, 2310, 2520, 3003, 5040, 6000)
ODD = (1023, 2047, 4095, 8191, 9999, 10001, 12345, 15015, 17017, 19999, 20000, 18480, 13860)
SIZES = (*range(1, 131), *PRIMES, *POWERS, *OTHERS, *MIXED, *ODD)
NORMS = (None, "backward", "ortho", "forward")
LINES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
AREAS = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
REAL = ("rfft", "ihfft", "rfft2", "rfftn", "ihfft2", "ihfftn")
WAVES = ("dct", "idct", "dst", "idst")


def samples(name: str, *shape: int, seed: int = 0, dtype: Any = np.complex128) -> np.ndarray:
    """Values that a transform takes: real ones, or complex ones."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if name in REAL or name.removesuffix("n") in WAVES:
        return values.astype(np.empty(0, dtype).real.dtype)
    return (values + 1j * rng.standard_normal(shape)).astype(dtype)


def close(ours: Any, theirs: Any, bound: float, why: Any = "") -> None:
    """Asserts equal shape and dtype, and a small error relative to the largest value."""
    assert isinstance(ours, fg.Tensor), why
    assert ours.shape == theirs.shape, why
    assert ours.dtype == theirs.dtype, (ours.dtype, theirs.dtype, why)
    found = ours.detach().numpy()
    size = np.max(np.abs(theirs), initial=0.0)
    assert np.max(np.abs(found - theirs), initial=0.0) <= bound * size, why


def test_there_are_two_hundred_sizes() -> None:
    assert len(set(SIZES)) == len(SIZES) == 200


@pytest.mark.parametrize("lines", [1, 3, 4, 9, 33])
@pytest.mark.parametrize(
    "n",
    [13, 25, 61, 100, 169, 221, 500, 1000, 1023, 2046, 53 * 32, 67 * 4, 13 * 631]
    + [1 << k for k in range(6, 15)],
)
def test_lines_of_unusual_lengths_together(n: int, lines: int) -> None:
    """Factors from 13 to 61, several fives, and powers of two have ways of their own."""
    rng = np.random.default_rng(n)
    x = rng.standard_normal((lines, n)) + 1j * rng.standard_normal((lines, n))
    for dtype, tolerance in (("complex128", 1e-14), ("complex64", 1e-5)):
        z = x.astype(dtype)
        real, half = z.real.copy(), z[:, : n // 2 + 1].copy()
        pairs = [
            (fg.fft.fft(z), np.fft.fft(x)),
            (fg.fft.fft(z.T, axis=0), np.fft.fft(x.T, axis=0)),
            (fg.fft.ifft(z[:, ::-1], norm="forward"), np.fft.ifft(x[:, ::-1], norm="forward")),
            (fg.fft.rfft(real), np.fft.rfft(x.real)),
            (fg.fft.irfft(half, n), np.fft.irfft(x[:, : n // 2 + 1], n)),
        ]
        for ours, theirs in pairs:
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * abs(theirs).max())


@pytest.mark.parametrize("lines", [8, 17, 64, 135])
def test_lines_side_by_side(lines: int) -> None:
    """Columns are transformed in vectors: every radix, whole and left-over vectors, strides."""
    rng = np.random.default_rng(lines)
    few = (2, 3, 4, 5, 7, 8, 9, 16, 25, 32, 49, 60, 64, 77, 121, 128, 169, 256, 499, 500, 512)
    for n in (*few, 610, 1000, 1001, 1024, 1536, 1537) if lines < 100 else few:
        x = rng.standard_normal((n, lines)) + 1j * rng.standard_normal((n, lines))
        for dtype, tolerance in (("complex128", 1e-14), ("complex64", 1e-5)):
            z = x.astype(dtype)
            gapped = np.repeat(z, 2, axis=0)[::2]
            pairs = [
                (fg.fft.fft(z, axis=0), np.fft.fft(x, axis=0)),
                (fg.fft.ifft(z, axis=0), np.fft.ifft(x, axis=0)),
                (fg.fft.fft(z[::-1], axis=0), np.fft.fft(x[::-1], axis=0)),
                (fg.fft.ifft(gapped, axis=0, norm="ortho"), np.fft.ifft(x, axis=0, norm="ortho")),
            ]
            for ours, theirs in pairs:
                bound = tolerance * abs(theirs).max()
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=bound, err_msg=f"{n} {dtype}")


def test_cubes_and_their_left_over_columns() -> None:
    """Planes and rows whose columns are no whole number of vectors."""
    rng = np.random.default_rng(0)
    for shape in ((6, 5, 8, 19), (3, 64, 64), (20, 30, 33), (8, 9, 10, 11)):
        x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
        for axes in (None, (0,), (1,), (0, 1), (1, 0, 2)):
            close(fg.fft.fftn(fg.tensor(x), axes=axes), np.fft.fftn(x, axes=axes), 1e-14, shape)
            close(fg.fft.rfftn(x.real, axes=axes), np.fft.rfftn(x.real, axes=axes), 1e-14, shape)
            swapped = np.asfortranarray(x)
            close(fg.fft.ifftn(swapped, axes=axes), np.fft.ifftn(x, axes=axes), 1e-14, shape)


def test_half_spectra_of_planes_in_their_place_and_beside_it() -> None:
    """Without a history the spectrum is transformed where it is, with the same bits."""
    rng = np.random.default_rng(0)
    for shape in ((6, 10), (40, 30, 18), (64, 128)):
        x = rng.standard_normal(shape)
        t, recorded = fg.tensor(x), fg.tensor(x, requires_grad=True)
        for axes in (None, (1, 0), (0,)):
            alone = fg.fft.rfftn(t, axes=axes)
            np.testing.assert_array_equal(fg.fft.rfftn(recorded, axes=axes).detach(), alone)
            compiled = fg.compile(lambda t, axes=axes: fg.fft.rfftn(t, axes=axes))
            for _ in range(2):
                np.testing.assert_array_equal(compiled(t), alone)
            close(alone, np.fft.rfftn(x, axes=axes), 1e-14)
        np.testing.assert_array_equal(t, x)


@pytest.mark.parametrize("name", LINES)
def test_every_length_gives_numpys_values(name: str) -> None:
    ours, theirs = getattr(fg.fft, name), getattr(np.fft, name)
    for i, n in enumerate(SIZES):
        x, norm = samples(name, 2, n, seed=n), NORMS[i % 4]
        if name in ("irfft", "hfft") and n == 1:
            continue
        close(ours(fg.tensor(x), norm=norm), theirs(x, norm=norm), 1e-14, (n, norm))


@pytest.mark.parametrize("name", LINES)
def test_single_precision_stays_single(name: str) -> None:
    ours, theirs = getattr(fg.fft, name), getattr(np.fft, name)
    for n in (2, 3, 8, 13, 60, 97, 128, 509, 1000, 4096, 10007):
        x = samples(name, 3, n, seed=n, dtype=np.complex64)
        close(ours(fg.tensor(x)), theirs(x), 3e-6, n)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_lengths_axes_and_layouts(name: str, axis: int) -> None:
    ours, theirs = getattr(fg.fft, name), getattr(np.fft, name)
    x = samples(name, 5, 12, 7)
    for a in (x, x[::-1, ::2], x.T, np.asfortranarray(x), x[:, :, :1], x[:0], x.repeat(9, 1)):
        for n in (None, 1, 4, 7, 40):
            if n is None and a.shape[axis] < 2:
                continue
            for norm in NORMS[2:]:
                got = ours(fg.tensor(a), n, axis, norm)
                if a.shape[axis] == 0:
                    # NumPy's irfft reads memory there that nobody wrote.
                    assert not got.numpy().any()
                    continue
                close(got, theirs(a, n, axis, norm), 1e-14, (a.shape, n, norm))


@pytest.mark.parametrize("name", AREAS)
def test_several_axes(name: str) -> None:
    ours, theirs = getattr(fg.fft, name), getattr(np.fft, name)
    x = samples(name, 6, 5, 8)
    choices: list[Any] = [{}, {"axes": (0, 1)}, {"axes": (2, 0)}, {"s": (4, 9), "axes": (1, 2)}]
    choices += [{"s": (-1, 9), "axes": (-1, 0)}]
    if not name.endswith("2"):
        choices += [{"axes": (1,)}, {"axes": (2, 1, 0)}, {"s": (7, 8, 6), "axes": (0, 1, 2)}]
    for options in choices:
        for norm in NORMS:
            got = ours(fg.tensor(x), **options, norm=norm)
            close(got, theirs(x, **options, norm=norm), 1e-14, (options, norm))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close(ours(fg.tensor(x), (3, 4)), theirs(x, (3, 4), axes=(-2, -1)), 1e-14)


@pytest.mark.parametrize("name", ["hfft2", "ihfft2", "hfftn", "ihfftn"])
def test_scipys_own_names(name: str) -> None:
    x = samples(name, 4, 6, 5)
    for options in ({}, {"axes": (0, 1)}, {"s": (5, 8), "axes": (2, 1)}, {"norm": "ortho"}):
        want = getattr(scipy.fft, name)(x, **options)
        close(getattr(fg.fft, name)(fg.tensor(x), **options), want, 1e-14, options)


@pytest.mark.parametrize("name", WAVES)
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosines_and_sines(name: str, kind: int) -> None:
    ours, theirs = getattr(fg.fft, name), getattr(scipy.fft, name)
    for i, n in enumerate(SIZES):
        if (name.endswith("dct") and kind == 1 and n < 2) or n > 3000:
            continue
        x, options = samples(name, 2, n, seed=n), {"norm": NORMS[i % 4]}
        if i % 3:
            options["orthogonalize"] = bool(i % 2)
        close(ours(fg.tensor(x), kind, **options), theirs(x, kind, **options), 3e-14, (n, options))
    x = samples(name, 5, 6, 7).astype(np.float32)
    close(ours(fg.tensor(x), type=kind, n=9, axis=0), theirs(x, kind, n=9, axis=0), 3e-6)
    x = samples(name, 5, 6, 7)
    several = getattr(fg.fft, f"{name}n")(fg.tensor(x), kind, (4, 9), (2, 0), "ortho")
    close(several, getattr(scipy.fft, f"{name}n")(x, kind, (4, 9), (2, 0), "ortho"), 3e-14)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "uint64", "float16"])
@pytest.mark.parametrize("name", LINES)
def test_other_dtypes_become_what_numpy_makes_of_them(name: str, dtype: str) -> None:
    x = (np.arange(24).reshape(4, 6) % 5).astype(dtype)
    # NumPy rounds the factor of a norm to float16.
    bound = 1e-3 if dtype == "float16" else 1e-14
    close(getattr(fg.fft, name)(fg.tensor(x)), getattr(np.fft, name)(x), bound)


def test_frequencies_shifts_and_lengths() -> None:
    for n in (1, 2, 5, 8):
        for ours, theirs in ((fg.fft.fftfreq, np.fft.fftfreq), (fg.fft.rfftfreq, np.fft.rfftfreq)):
            np.testing.assert_array_equal(ours(n, 0.3).numpy(), theirs(n, 0.3))
        x = np.arange(n * 3).reshape(n, 3)
        for name in ("fftshift", "ifftshift"):
            for axes in (None, 0, 1, (0, 1), -1):
                got = getattr(fg.fft, name)(fg.tensor(x), axes).numpy()
                np.testing.assert_array_equal(got, getattr(np.fft, name)(x, axes))
    for n in (0, 1, 7, 13, 97, 1021, 10007):
        for real in (False, True):
            assert fg.fft.next_fast_len(n, real) == scipy.fft.next_fast_len(n, real)
    d = fg.tensor(0.5, requires_grad=True)
    fg.fft.fftfreq(4, d)[1].backward()
    assert d.grad.item() == -1.0


BAD: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "no points": ("fft", (), {"n": 0}),
    "negative points": ("irfft", (), {"n": -3}),
    "an axis too many": ("ifft", (), {"axis": 2}),
    "an axis too many of several": ("fftn", (), {"axes": (0, 5)}),
    "an unknown norm": ("rfft", (), {"norm": "big"}),
    "lengths and axes": ("fft2", (), {"s": (3,), "axes": (0, 1)}),
    "a length of nothing": ("fftn", (), {"s": (3, 0), "axes": (0, 1)}),
    "a fractional length": ("fft", (), {"n": 2.5}),
}


@pytest.mark.parametrize("what", BAD)
def test_errors_are_numpys(what: str) -> None:
    name, args, options = BAD[what]
    x = samples("rfft", 4, 6)
    with pytest.raises((TypeError, ValueError, IndexError)) as theirs:
        getattr(np.fft, name)(x, *args, **options)
    with pytest.raises(theirs.type) as ours:
        getattr(fg.fft, name)(fg.tensor(x), *args, **options)
    assert isinstance(ours.value, fg.errors.FerrogradError)


@pytest.mark.parametrize("name", REAL)
def test_complex_values_are_refused_by_transforms_of_real_ones(name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}: complex128 values.*; use fft"):
        getattr(fg.fft, name)(fg.tensor(np.ones((2, 4), np.complex128)))


def test_axes_without_points() -> None:
    for name in (*LINES, "fftn", "rfftn"):
        with pytest.raises(ValueError, match="Invalid number of FFT data points"):
            getattr(fg.fft, name)(fg.zeros((3, 0)))
    with pytest.raises(ValueError, match="type 1 of 1 point"):
        fg.fft.dct(fg.ones(1), type=1)
    with pytest.raises(ValueError, match="type 5"):
        fg.fft.dct(fg.ones(3), type=5)
    assert fg.fft.fft2(fg.zeros((0, 4, 4))).shape == (0, 4, 4)


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_bits_do_not_depend_on_threads(threads: int) -> None:
    calls: list[Callable[[], Any]] = []
    before = fg.get_num_threads()
    for shape in ((300, 250), (70, 64, 64), (1 << 15,), (33, 1009)):
        z, x = fg.tensor(samples("fft", *shape)), fg.tensor(samples("rfft", *shape))
        calls += [lambda z=z: fg.fft.fftn(z), lambda x=x: fg.fft.rfftn(x, axes=(0,))]
        calls += [lambda z=z: fg.fft.irfftn(z), lambda x=x: fg.fft.dctn(x)]
    for transform in calls:
        fg.set_num_threads(1)
        alone = transform().numpy().tobytes()
        fg.set_num_threads(threads)
        assert transform().numpy().tobytes() == alone
    fg.set_num_threads(before)


@pytest.mark.parametrize("name", [*LINES, *AREAS])
def test_the_ways_to_call(name: str) -> None:
    x = samples(name, 4, 6)
    t, theirs = fg.tensor(x), getattr(np.fft, name)
    want = getattr(fg.fft, name)(t).numpy()
    np.testing.assert_array_equal(theirs(t).numpy(), want)
    np.testing.assert_array_equal(theirs(t, norm=None).numpy(), want)
    np.testing.assert_array_equal(getattr(anp.fft, name)(t).numpy(), want)
    np.testing.assert_array_equal(getattr(sfft, name)(t, workers=2).numpy(), want)
    np.testing.assert_array_equal(getattr(sfft, name)(x), want)
    assert type(getattr(anp.fft, name)(x)) is np.ndarray
    out = fg.zeros(want.shape, dtype=want.dtype)
    assert getattr(fg.fft, name)(t, out=out) is out
    np.testing.assert_array_equal(out.numpy(), want)
    with pytest.raises(NotImplementedError, match="plan"):
        getattr(sfft, name)(t, plan=3)


def test_the_face_of_scipy() -> None:
    x = samples("dct", 4, 6)
    for name in (*WAVES, *(f"{name}n" for name in WAVES)):
        got = getattr(sfft, name)(x, 3, norm="ortho")
        np.testing.assert_allclose(got, getattr(scipy.fft, name)(x, 3, norm="ortho"), 1e-12, 1e-14)
        np.testing.assert_array_equal(getattr(sfft, name)(fg.tensor(x), 3, norm="ortho"), got)
    z = samples("fft", 4, 6)
    np.testing.assert_allclose(sfft.dct(z), scipy.fft.dct(z), 1e-12, 1e-14)
    np.testing.assert_array_equal(sfft.fft2(z, (4, None)), sfft.fft2(z))
    assert sfft.next_fast_len(97) == scipy.fft.next_fast_len(97)
    np.testing.assert_array_equal(sfft.dct(fg.tensor(z)), sfft.dct(z))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", [*WAVES, *(f"{name}n" for name in WAVES)])
def test_cosine_and_sine_transforms_of_complex_values(name: str, dtype: Any) -> None:
    z = samples("fft", 5, 6, dtype=dtype)
    for kind in (1, 2, 3, 4):
        want = getattr(scipy.fft, name)(z, kind, norm="ortho")
        close(
            getattr(fg.fft, name)(fg.tensor(z), kind, norm="ortho"), want, 50 * np.finfo(dtype).eps
        )
    x = fg.tensor(z, requires_grad=True)
    getattr(fg.fft, name)(x).abs().square().sum().backward()
    assert x.grad.dtype == dtype
    parts = fg.tensor(np.stack([z.real, z.imag]), requires_grad=True)
    getattr(fg.fft, name)(parts, **_last(name)).square().sum().backward()
    want = parts.grad.numpy()[0] + 1j * parts.grad.numpy()[1]
    np.testing.assert_allclose(
        x.grad.numpy(), want, rtol=0, atol=1e-3 if dtype == np.complex64 else 1e-9
    )


def _last(name: str) -> dict[str, Any]:
    """The axes of a plane behind an axis of parts."""
    return {"axes": (1, 2)} if name.endswith("n") else {}


@pytest.mark.parametrize("name", ["rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 8, 9, 31, 64, 127, 250])
def test_half_spectra_keep_special_values_and_signs_apart(name: str, n: int) -> None:
    x = samples(name, 3, n + (name in ("irfft", "hfft")))
    x[1] = np.nan
    x[2] = 0.0
    found = getattr(fg.fft, name)(fg.tensor(x)).numpy()
    # Lines that are transformed together have other sums than one alone.
    ordinary = getattr(fg.fft, name)(fg.tensor(np.stack([x[0], 2 * x[0], -x[0]]))).numpy()
    np.testing.assert_array_equal(found[0], ordinary[0])
    assert np.isnan(found[1]).any()
    np.testing.assert_array_equal(found[2], np.zeros_like(found[2]))


def test_half_spectra_of_lines_across_memory_and_in_reverse() -> None:
    x = samples("rfft", 40, 36)
    for name in ("rfft", "ihfft"):
        for view in (x, x[:, ::-1], x[::-2], x.T, x[:, 1:35], x[:, ::3]):
            got = getattr(fg.fft, name)(fg.tensor(view)).numpy()
            np.testing.assert_allclose(got, getattr(np.fft, name)(view), 1e-12, 1e-12)
            got = getattr(fg.fft, name)(fg.tensor(x)[3:, 2:], axis=0).numpy()
            np.testing.assert_allclose(got, getattr(np.fft, name)(x[3:, 2:], axis=0), 1e-12, 1e-12)
    z = samples("fft", 19, 20)
    for name in ("irfft", "hfft"):
        for view in (z, z[:, ::-1], z.T, z[:, 1:], z[::2, ::3]):
            got = getattr(fg.fft, name)(fg.tensor(view)).numpy()
            np.testing.assert_allclose(got, getattr(np.fft, name)(view), 1e-12, 1e-12)


def test_compiled_functions_have_the_bits_of_eager() -> None:
    def f(x: Any) -> Any:
        return fg.fft.irfftn(fg.fft.rfftn(x, (9, 10))) + fg.fft.dct(x, 2, 10)[:9]

    compiled = fg.compile(f)
    for seed in range(3):
        x = fg.tensor(samples("rfft", 9, 7, seed=seed))
        np.testing.assert_array_equal(compiled(x).numpy(), f(x).numpy())
    spectrum = fg.compile(lambda z: fg.fft.fftshift(fg.fft.ifft2(z)))
    for seed in range(3):
        z = fg.tensor(samples("fft", 6, 5, seed=seed))
        want = fg.fft.fftshift(fg.fft.ifft2(z)).numpy()
        np.testing.assert_array_equal(spectrum(z).numpy(), want)


@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_logarithmic_hankel_transforms(name: str) -> None:
    rng = np.random.default_rng(0)
    for n, options in ((16, {}), (9, {"offset": 0.2, "bias": 0.3})):
        x = rng.standard_normal(n)
        want = getattr(scipy.fft, name)(x, 0.1, 1.5, **options)
        np.testing.assert_allclose(getattr(sfft, name)(x, 0.1, 1.5, **options), want)
        slopes = fg.check_grads(
            lambda x, options=options: getattr(sfft, name)(x, 0.1, 1.5, **options), order=2
        )
        slopes(x)
