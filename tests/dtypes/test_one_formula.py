"""One formula for each name, whichever module or method a program takes it from."""

from collections.abc import Callable, Iterator
from itertools import product
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
import ferrograd.numpy as fnp
from ferrograd._dispatch.function_table import COMPOSED, OPERATIONS, find_composition
from numpy_calls import CALLS, Called
from numpy_cases import ROWS

pytestmark = pytest.mark.filterwarnings("ignore")

RANDOM = np.random.default_rng(11)
V, W, M = RANDOM.normal(size=3), RANDOM.normal(size=3), RANDOM.normal(size=(3, 4))
F, I1, I2 = V.astype(np.float32), np.arange(3), np.arange(3) * 7 - 4
Z = W + 1j * V
BITS = np.array([1, 6, 3])

#: Names of `fg` that mean something else than NumPy's on purpose, and where that is written.
OTHERWISE = {
    "can_cast": "docs/pytorch.md: takes the kind of a dtype, as PyTorch's",
    "gradient": "docs/pytorch.md: spacings by name and always a tuple, NumPy's numbers",
    "put_along_axis": "docs/operations.md: a new tensor; NumPy's writes",
    "unravel_index": "docs/pytorch.md: tensors; NumPy's gives arrays of positions",
    "save": "docs/saving.md: files of safetensors",
    "result_type": "takes two operands, as PyTorch's",
}

ELEMENTWISE = """
    sin exp tanh absolute fabs sign floor ceil trunc rint fix square sqrt cbrt conj conjugate real
    positive negative degrees radians deg2rad rad2deg isnan isinf isfinite isposinf isneginf signbit
    logical_not nan_to_num sinc around round frexp modf asin acos atan asinh arcsin arccos arctan
"""
PAIRS = """
    add subtract multiply divide true_divide floor_divide mod remainder fmod power pow float_power
    maximum minimum fmax fmin hypot atan2 arctan2 copysign equal less greater_equal logical_and
    logaddexp heaviside
"""
WHOLE = "bitwise_left_shift left_shift bitwise_and bitwise_or bitwise_xor gcd lcm"
ABOVE_ONE = "acosh arccosh"


def by_name(name: str) -> Callable[..., Any]:
    """A call of NumPy's function, also where that is an alias."""
    return lambda *args, n=name: getattr(np, n)(*args)


#: Calls that no other table has.
OWN: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    *((n, by_name(n), (x,)) for n in ELEMENTWISE.split() for x in (V / 3, F / 3)),
    *((n, by_name(n), (abs(x) + 1,)) for n in ABOVE_ONE.split() for x in (V, F)),
    *((n, by_name(n), (abs(a), b)) for n in PAIRS.split() for a, b in ((V, W), (F, V))),
    *((n, by_name(n), (BITS, BITS[::-1].copy())) for n in WHOLE.split()),
    *((n, by_name(n), (BITS,)) for n in ("invert", "bitwise_invert", "bitwise_not")),
    ("bitwise_right_shift", by_name("bitwise_right_shift"), (BITS * 9, BITS)),
    ("ldexp", np.ldexp, (V, BITS)),
    ("atanh", lambda a: np.atanh(np.tanh(a)), (V,)),
    ("full_like", lambda a, v: np.full_like(a, v), (M, M[0])),
    ("full_like", lambda a, v: np.full_like(a, v, dtype="f"), (M, V[0])),
    ("full_like", lambda a, v: np.full_like(a, v), (I1, V[1])),
    ("zeros_like", lambda a: np.zeros_like(a, dtype="f"), (M,)),
    ("ones_like", lambda a: np.ones_like(a), (F,)),
    ("copy", np.copy, (M,)),
    ("meshgrid", np.meshgrid, (V, W)),
    ("meshgrid", lambda a, b: np.meshgrid(a, b, indexing="ij", sparse=True), (V, I1)),
    ("vander", lambda a: np.vander(a, 4, increasing=True), (I1,)),
    ("vander", lambda a: np.vander(a, 2), (F,)),
    ("cross", np.cross, (V, M[:, :3])),
    ("cross", lambda a, b: np.cross(a, b, axis=0), (M[:, :2], M[:, 2:])),
    ("linalg.cross", np.linalg.cross, (V, W)),
    ("broadcast_to", lambda a: np.broadcast_to(a, (2, 3)), (V,)),
    ("concat", lambda a, b: np.concat((a, b)), (V, W)),
    ("unstack", lambda a: np.unstack(a), (M,)),
    ("permute_dims", lambda a: np.permute_dims(a, (1, 0)), (M,)),
    ("transpose", lambda a: np.transpose(a, (1, 0)), (M,)),
    ("einsum", lambda a: np.einsum("ij->ji", a), (M,)),
    ("bincount", lambda i, w: np.bincount(i, w), (BITS, V)),
    ("nanquantile", lambda a: np.nanquantile(a, 0.3), (V,)),
    ("linalg.svd", lambda a: np.linalg.svd(a, full_matrices=False), (M,)),
    ("linalg.qr", lambda a: np.linalg.qr(a), (M.T,)),
    ("linalg.eigh", lambda a: np.linalg.eigh(a @ a.T), (M,)),
    ("linalg.slogdet", lambda a: np.linalg.slogdet(a[:, :3]), (M,)),
    ("trapezoid", lambda a, h: np.trapezoid(a, dx=h), (V, W[0])),
    ("nan_to_num", lambda a, v: np.nan_to_num(a, nan=v), (V, W[0])),
    ("unwrap", lambda a, p: np.unwrap(a, period=p), (V, abs(W[0]))),
]


class Home:
    """A module in place of NumPy: its functions where it has them, else NumPy's."""

    def __init__(self, theirs: Any, find: Callable[[str], Any], called: set[str]) -> None:
        self._theirs, self._find, self._called = theirs, find, called

    def __getattr__(self, name: str) -> Any:
        if name in ("linalg", "fft") and self._theirs is np:
            inner = self._find(name)
            return Home(getattr(np, name), lambda key: getattr(inner, key, None), self._called)
        theirs = getattr(self._theirs, name)
        ours = self._find(name) if callable(theirs) and not isinstance(theirs, type) else None
        if ours is None or name in OTHERWISE:
            return theirs
        self._called.add(name)
        return ours


def _of_fg(name: str) -> Any:
    return getattr(fg, name) if name in dir(fg) else None


#: Methods that change their tensor, as those of arrays do, where the functions give copies.
IN_PLACE = {"sort", "partition"}


def _method(name: str) -> Any:
    found = getattr(fg.Tensor, name, None)
    if not callable(found) or name in IN_PLACE:
        return None

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return (
            found(x, *args, **kwargs)
            if isinstance(x, fg.Tensor)
            else getattr(np, name)(x, *args, **kwargs)
        )

    return call


def moved(call: Any, home: Home) -> Any:
    """A call of NumPy's functions as one of those of another home."""
    if isinstance(call, FunctionType) and call.__name__ == "<lambda>":
        names = {**call.__globals__, "np": home, "L": home.linalg, "F": home.fft}
        given = tuple(moved(value, home) for value in call.__defaults__ or ())
        made = FunctionType(call.__code__, names, call.__name__, given, call.__closure__)
        made.__kwdefaults__ = call.__kwdefaults__
        return made
    for theirs, ours in ((np, home), (np.linalg, home.linalg), (np.fft, home.fft)):
        name = getattr(call, "__name__", "")
        if callable(call) and name and getattr(theirs, name, None) is call:
            return getattr(ours, name)
    return call


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def described(result: Any) -> list[Any]:
    """Everything that two homes must agree in."""
    found = []
    for leaf in leaves(result):
        array = leaf.detach().numpy() if isinstance(leaf, fg.Tensor) else np.asarray(leaf)
        if array.dtype.kind in "biufc":  # no text or object
            follows = isinstance(leaf, fg.Tensor) and leaf.requires_grad
            found.append((array.dtype, array.shape, array.tobytes(), follows))
    return found


def without_history(facts: list[Any]) -> list[Any]:
    return [fact[:3] for fact in facts]


def arguments(called: Called, kind: str) -> list[Any]:
    if kind == "int":
        return [RANDOM.integers(1, 5, size=shape) for shape in called.shapes]
    return [RANDOM.normal(size=shape).astype(kind) for shape in called.shapes]


def rows() -> list[tuple[str, Callable[..., Any], list[Any]]]:
    found = [(c.name, c.call, arguments(c, k)) for c in CALLS for k in ("d", "f", "int")]
    found += [(row.path, row.call, list(row.arrays)) for row in ROWS]
    found += [(name, call, list(arrays)) for name, call, arrays in OWN]
    # Methods of ufuncs are not ours, and `interp` needs three arguments.
    skipped = (".reduce", ".outer", ".accum", "interp")
    return [row for row in found if not any(part in row[0] for part in skipped)]


def tensor(array: Any, grad: bool) -> fg.Tensor:
    made = fg.tensor(np.array(array))
    return made.requires_grad_() if grad and made.dtype.kind in "fc" else made


def outcome(call: Callable[..., Any], args: list[Any]) -> Any:
    try:
        return described(call(*args))
    except Exception as error:
        return type(error)


TABLE = rows()


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_every_home_gives_the_same_bits(row: Any) -> None:
    _, call, arrays = row
    for grad in (False, True):
        expected = outcome(call, [tensor(a, grad) for a in arrays])
        for find, partly in (
            (lambda name: getattr(fnp, name), True),
            (_of_fg, False),
            (_method, False),
        ):
            called: set[str] = set()
            theirs = moved(call, Home(np, find, called))
            choices = product((True, False), repeat=len(arrays)) if partly else [[True] * 9]
            for chosen in choices:
                args = [tensor(a, grad) if c else a for a, c in zip(arrays, chosen, strict=False)]
                if not any(chosen):
                    continue
                found = outcome(theirs, args)
                if not partly and isinstance(found, type) and issubclass(found, TypeError):
                    continue  # an argument that only NumPy's function has
                if not all(chosen) and isinstance(found, list) and isinstance(expected, list):
                    found, compared = without_history(found), without_history(expected)
                else:
                    compared = expected
                assert found == compared, (chosen, called)


def test_every_name_with_two_bodies_is_in_the_table() -> None:
    find_composition(len)  # loads every composition
    called: set[str] = set()
    for _, call, arrays in TABLE:
        for find in (_of_fg, lambda name: getattr(fnp, name)):
            outcome(moved(call, Home(np, find, called)), [tensor(a, False) for a in arrays])
    missing = []
    for home, ours in ((np, fg), (np.linalg, fg.linalg), (np.fft, fg.fft)):
        for name in set(dir(home)) & set(dir(ours)):
            theirs, own = getattr(home, name), getattr(ours, name)
            if not callable(theirs) or isinstance(theirs, type):
                continue
            body = OPERATIONS.get(theirs) or COMPOSED.get(theirs)
            if body is not None and own is not body and own is not theirs:
                missing += [name] if name not in called and name not in OTHERWISE else []
    assert not missing


# --- linspace: NumPy's values to the last bit -----------------------------------------------------

ENDS = [
    (0.0, 1.0),
    (0.1, -0.3),
    (1, 7),
    (True, 3),
    (2.5, 2.5),
    (0.0, 5e-324),
    (1e300, -1e300),
    (np.float32(0.1), np.float32(0.7)),
    (F, 2.0),
    (F, W),
    (V, M.T),
    (I1, I2),
    (np.array([1.0, 2.0]), np.array([1.0, 5.0])),  # one step is zero
    (np.float16([0.1, 0.2]), np.float16([1, 3])),
    (np.int8([-3, 2]), np.int8([7, -100])),
    (Z, W),
    (2**60 + 1, np.int64(5)),
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"endpoint": False},
    {"axis": -1},
    {"retstep": True},
    {"endpoint": False, "retstep": True, "axis": -1},
    *({"dtype": dtype} for dtype in ("f", "e", "q", "D")),
]


def chosen_ends(start: Any, stop: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """The ends with tensors for one or both, and as arrays in the same places."""
    for first, second in ((True, False), (False, True), (True, True)):
        arrays = [np.asarray(x) if c else x for x, c in ((start, first), (stop, second))]
        for grad in (False, True):
            given = [tensor(x, grad) if c else x for x, c in ((start, first), (stop, second))]
            yield *given, *arrays


@pytest.mark.parametrize("num", [0, 1, 2, 5, 50])
@pytest.mark.parametrize("ends", ENDS, ids=range(len(ENDS)))
def test_linspace_of_tensors_has_the_bits_of_numpy(ends: Any, num: int) -> None:
    for options in OPTIONS:
        if np.dtype(options.get("dtype", "D")).kind != "c" and any(map(np.iscomplexobj, ends)):
            continue
        for start, stop, *arrays in chosen_ends(*ends):
            with np.errstate(all="ignore"):
                expected = without_history(described(np.linspace(*arrays, num, **options)))
                for make in (np.linspace, fnp.linspace, fg.linspace):
                    made = make(start, stop, num, **options)
                    assert without_history(described(made)) == expected, (make, options)
                    assert isinstance(next(leaves(made)), fg.Tensor)


def test_the_number_of_samples_may_be_a_tensor_and_is_not_negative() -> None:
    x = fg.tensor(2.0)
    for make in (np.linspace, fnp.linspace, fg.linspace):
        assert make(x, 3.0, fg.tensor(3)).tolist() == [2.0, 2.5, 3.0]
        with pytest.raises(ValueError, match="linspace"):
            make(x, 3.0, -1)


@pytest.mark.parametrize("make", [np.linspace, np.logspace, np.geomspace, fg.linspace])
def test_samples_have_derivatives_by_both_ends(make: Any) -> None:
    ends = (tensor(abs(V) + 1, True), tensor(abs(M.T) + 0.5, True))
    fg.gradcheck(lambda a, b: make(a, b, 4), ends)
    fg.gradcheck(lambda a, b: make(a, b, 4, endpoint=False), ends)
    fg.gradcheck(lambda a: make(a, a, 3), ends[:1])  # every step is zero
    fg.gradcheck(lambda a, b: make(a, b, 1), ends)


def test_a_base_of_several_numbers_is_broadcast() -> None:
    for arrays in ((0.0, 1.0, abs(V)), (V, 1.0, abs(M.T))):
        for axis in (0, -1):
            expected = np.logspace(*arrays[:2], 4, base=arrays[2], axis=axis)
            found = np.logspace(*arrays[:2], 4, base=tensor(arrays[2], True), axis=axis)
            assert np.allclose(found.detach(), expected, rtol=1e-14)
            assert found.shape == expected.shape


def test_complex_geometric_samples_keep_their_derivatives() -> None:
    fg.gradcheck(lambda a, b: np.geomspace(a, b, 4), (tensor(Z, True), tensor(Z[::-1], True)))


# --- full, and lists of tensors -------------------------------------------------------------------


@pytest.mark.parametrize("make", [fg.full, fnp.full])
def test_full_broadcasts_tensors_and_lists_of_them(make: Any) -> None:
    value = fg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    made = make((2, 3), value)
    assert np.array_equal(made.detach(), np.full((2, 3), value.detach().numpy()))
    made.sum().backward()
    assert value.grad.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(fg.errors.ShapeError, match=r"full: fill_value has shape \(3,\)"):
        make((3, 2), value)


def test_what_is_full_is_memory() -> None:
    value = fg.tensor([1.0, 2.0])[1]
    for made in (fg.full((), value), np.full_like(value, value), fnp.array(value)):
        same = made
        same += 1.0
        assert (made.item(), value.item()) == (3.0, 2.0)


def test_compositions_take_lists_of_tensors() -> None:
    def of(call: Callable[..., Any]) -> Any:
        return fg.grad(lambda x: np.sum(call([x[0], x[1], x[2]])))(V)

    for name, *rest in (("vander",), ("gradient",), ("polyder",), ("append", 1.0), ("resize", 5)):
        theirs = fg.grad(lambda x, n=name, r=rest: np.sum(getattr(np, n)(x, *r)))(V)
        assert np.allclose(of(lambda xs, n=name, r=rest: getattr(fnp, n)(xs, *r)), theirs)
