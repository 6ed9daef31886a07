"""Every way to fail: the call, the exception class, the exact text.

A row names the variant of `src/error.rs` it stands for; a variant without a row has a reason.
Invariant: a text reads `operation: what happened, with both values; what to do`.
"""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ferrograd as fg
from ferrograd import linalg

ERRORS = Path(__file__).resolve().parents[2] / "src" / "error.rs"


def ones(*shape: int, **options: Any) -> fg.Tensor:
    return fg.ones(*shape, **options)


def leaf(*shape: int) -> fg.Tensor:
    return fg.ones(*shape, requires_grad=True)


def freed() -> None:
    y = leaf(2).exp().sum()
    y.backward()
    y.backward()


def kept_tangent() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(np.sin(x))
        return kept[0] * x

    for _ in range(2):
        fg.jvp(f, (np.ones(2),), (np.ones(2),))


def made_in_inference_mode() -> fg.Tensor:
    with fg.inference_mode():
        return ones(2) * 1


def modified() -> None:
    w = ones(2)
    y = (leaf(2) * w).sum()
    with fg.autograd.graph.disallow_mutation_on_saved_tensors():
        w += 1
    y.backward()


class Halves(fg.CustomFunction):
    """A custom function whose backward returns what it was given."""

    def __init__(self, returned: Any) -> None:
        self.returned = returned

    def forward(self, inputs: Any, ctx: Any) -> Any:
        return [inputs[0] * 1]

    def backward(self, grad_outputs: Any, ctx: Any) -> Any:
        return self.returned(ctx) if callable(self.returned) else self.returned


def custom(returned: Any) -> None:
    Halves(returned).apply(leaf(2)).sum().backward()


class Rootless(fg.Function):
    """A function without a derivative."""

    @staticmethod
    def forward(ctx: Any, x: fg.Tensor) -> fg.Tensor:
        return x * 1


def raising() -> None:
    class Raises(fg.CustomFunction):
        def forward(self, inputs: Any, ctx: Any) -> Any:
            return [inputs[0] * 1]

        def backward(self, grad_outputs: Any, ctx: Any) -> Any:
            raise ZeroDivisionError("mine")

    Raises().apply(leaf(1)).backward()


Row = tuple[str, Callable[[], Any], str]

# fmt: off
TABLE: list[Row] = [
    ("Broadcast", lambda: ones(2, 3) + ones(4),
     "add: shapes (2, 3) and (4,) do not broadcast together; reshape or expand one of them"),
    ("Broadcast", lambda: fg.where(ones(2) > 0, ones(3), 1.0),
     "where: shapes (2,) and (3,) do not broadcast together; reshape or expand one of them"),
    ("Shape", lambda: ones(2, 3).squeeze(0),
     "squeeze: axis 0 has size 2, not 1; squeeze only axes of size 1"),
    ("Shape", lambda: fg.stack([ones(2), ones(3)]),
     "stack: tensor 1 has shape (3,) and tensor 0 has (2,); all shapes must agree"),
    ("Shape", lambda: fg.max(ones(0)),
     "max: zero elements have no extreme; reduce over axes with at least one element"),
    ("Shape", lambda: fg.tensor([[1], [2, 3]]),
     "tensor: the list is ragged: its rows have different lengths; pad the rows or make one tensor"
     " of each"),
    ("Shape", lambda: ones(2) @ fg.tensor(1.0),
     "matmul: operands of 1 and 0 dimensions; both need at least one dimension; use * for scalars"),
    ("MatmulShapes", lambda: ones(2, 3) @ ones(2),
     "matmul: shapes (2, 3) and (2,) do not multiply: the last dimension of the first must equal"
     " the"
     " second-last of the second (or its only one); transpose or reshape one of them"),
    ("Reshape", lambda: ones(2, 3).reshape(4),
     "reshape: cannot reshape (2, 3) into (4,); the number of elements must stay the same"),
    ("Reshape", lambda: ones(2, 3).reshape(-1, 4),
     "reshape: cannot reshape (2, 3) into (-1, 4); the number of elements must stay the same"),
    ("Reshape", lambda: ones(2, 3).reshape(-1, -1),
     "reshape: cannot reshape (2, 3) into (-1, -1); the number of elements must stay the same"),
    ("TooLarge", lambda: ones(1).expand(2**40, 2**40),
     "broadcast_to: an array of shape (1099511627776, 1099511627776) has more elements than"
     " memory can"
     " address; use a smaller shape"),
    ("Memory", lambda: fg.zeros(2**50),
     "allocation: 9007199254740992 bytes could not be allocated; free some tensors or use smaller"
     " ones"),
    ("Axis", lambda: ones(2, 3).sum(axis=2),
     "sum: axis 2 is out of bounds for an array of 2 dimensions; use an axis from -2 to 1"),
    ("Axis", lambda: fg.softmax(ones(2), axis=-2),
     "softmax: axis -2 is out of bounds for an array of 1 dimensions; use an axis from -1 to 0"),
    ("RepeatedAxis", lambda: ones(2, 3).mean(axis=(0, -2)),
     "mean: axis -2 is named more than once; name each axis once"),
    ("IndexRange", lambda: ones(2, 3)[0, 3],
     "index: index 3 is out of range for axis 1 of size 3; use an index from -3 to 2"),
    ("IndexRange", lambda: ones(2)[[0, -3]],
     "index: index -3 is out of range for axis 0 of size 2; use an index from -2 to 1"),
    ("BadIndex", lambda: ones(2)["a"],
     "index: a str cannot index; use integers, slices, None, ..., and integer or boolean arrays"),
    ("BadIndex", lambda: ones(2)[1.0],
     "index: an index array of dtype float64; index with integers or booleans"),
    ("BadIndex", lambda: ones(2)[0, 0],
     "index: 2 indices for 1 dimensions; give at most one index per dimension"),
    ("BadIndex", lambda: ones(2)[..., ...], "index: more than one ellipsis; use ... once"),
    ("BadIndex", lambda: ones(2)[-(10**19)],
     "index: index -10000000000000000000 is out of range for every axis; use a smaller index"),
    ("Argument", lambda: ones(2)[::0], "index: a slice step of 0; use a step other than 0"),
    ("BadIndex", lambda: ones(2)[[True]],
     "index: a boolean index of shape (1,) over axes of shape (2,); give a mask of the shape it"
     " covers"),
    ("DType", lambda: (leaf(2) * 1).backward(ones(2, dtype=np.int64)),
     "backward: dtype int64 is not supported; give a floating-point gradient"),
    ("DType", lambda: setattr(leaf(2), "grad", ones(2, dtype=np.float32)),
     "grad: dtype float32 is not supported; give a gradient of the tensor's own dtype"),
    ("NoInteger", lambda: fg.zeros(2, dtype=np.int64).fill_(np.inf),
     "full: inf cannot become an element of int64; give a finite number, or use a float dtype"),
    ("Unsupported", lambda: fg.zeros(2).fill_(1j),
     "full: the number (0+1j) goes into elements of float64; give its real part, or use a complex"
     " dtype"),
    ("Unsupported", lambda: fg.from_numpy(np.array([1, "a"], dtype=object)),
     "from_numpy: an array of Python objects cannot become a tensor; give numbers of one kind;"
     " ragged"
     " rows must be padded"),
    ("Unsupported", lambda: fg.asarray(np.zeros(1, "M8[s]")),
     "asarray: dtype datetime64[s] is not supported; use float64, float32, float16, complex128,"
     " complex64, int64, int32, uint8, uint64, int16, int8, uint32, uint16 or bool, for"
     " example a.astype(np.float64)"),
    ("ArgumentType", lambda: fg.tensor(None),
     "tensor: the data is a NoneType; give a number, a nested sequence of numbers, an array or a"
     " tensor"),
    ("ArgumentType", lambda: fg.sin("x"),
     "sin: x is a str; pass a tensor, an array, a number or a nested sequence of numbers as x"),
    ("ArgumentType", lambda: fg.exp(),
     'exp(): missing argument "x"; the parameters are x'),
    ("ArgumentType", lambda: ones(2).sum(foo=1),
     'sum(): unexpected keyword argument "foo"; the parameters are x, axis, keepdims, dtype'),
    ("ArgumentType", lambda: ones(2).sum(0, 1),
     "sum(): takes at most 2 arguments by position but 3 were given; the parameters are x, axis,"
     " keepdims, dtype"),
    ("ArgumentType", lambda: ones(2).max(dim=0),
     "max(): dim= returns values and indices in PyTorch, axis= only values in NumPy; write max(x,"
     " axis=...) for the values and argmax for the indices"),
    ("ArgumentType", lambda: ones(2).var(dim=0),
     "var(): dim= divides by n - 1 in PyTorch, axis= by n in NumPy; write var(x, axis=...,"
     " ddof=0) or"
     " var(x, dim=..., correction=1)"),
    ("ArgumentType", lambda: ones(2).sum(axis="a"),
     "sum: axis is a str; pass an integer or a tuple of integers as axis"),
    ("ArgumentType", lambda: ones(2).astype("floaty"),
     "astype: 'floaty' is not a dtype; use one such as fg.float32"),
    ("Argument", lambda: ones(2, 3).item(),
     "item: the tensor has 6 elements; reduce or index it to one element first"),
    ("Argument", lambda: bool(ones(2)),
     "bool: the truth value of a tensor with 2 elements is ambiguous; use t.any() or t.all()"),
    ("Argument", lambda: ones(2, 2).transpose(0, 1),
     "transpose: axes (0, 1) of a matrix are the identity in NumPy and a swap in PyTorch; write"
     " swapaxes(0, 1) or permute(0, 1)"),
    ("Argument", lambda: fg.concatenate([]),
     "concatenate: no tensors were given; give at least one"),
    ("IntegerRange", lambda: ones(2, dtype=np.uint8) + 300,
     "add: the Python integer 300 does not fit uint8; convert the tensor with"
     " astype(fg.int64) first, or give a float"),
    ("Argument", lambda: fg.where(ones(2) > 0, ones(2)),
     "where: one of the two choices is missing; give both a and b, or neither for the positions"),
    ("Argument", lambda: leaf(2).numpy(writable=True),
     "numpy: the tensor requires grad, and writing through the array would falsify gradients; use"
     " t.detach().clone().numpy(writable=True)"),
    ("Matrix", lambda: linalg.inv(fg.zeros(2, 2)),
     "inv: the matrix is singular; use pinv or lstsq, or add a multiple of the identity"),
    ("NotFloat", lambda: fg.tensor([1], requires_grad=True),
     "requires_grad: only floating-point tensors can require gradients, and this one is int64;"
     " convert it with .astype(fg.float64)"),
    ("NoGraph", lambda: ones(1).backward(),
     "backward: Tensor is not in the computational graph or graph is disabled: the tensor does not"
     " require grad; set requires_grad=True on an input and compute outside no_grad()"),
    ("NoGraph", lambda: leaf(1).detach().backward(),
     "backward: Tensor is not in the computational graph or graph is disabled: the tensor does not"
     " require grad: detach() (or .data) cut it from the graph; leave detach() out where a gradient"
     " is meant"),
    ("NotScalar", lambda: (leaf(2, 3) * 1).backward(),
     "backward: Gradient must be provided for non-scalar tensors: the shape is (2, 3); pass"
     " gradient="
     " or reduce with .sum()"),
    ("NotScalar", lambda: fg.autograd.grad(leaf(2) * 1, leaf(2)),
     "grad: Gradient must be provided for non-scalar tensors: the shape is (2,); pass grad_outputs="
     " or reduce with .sum()"),
    ("GradientShape", lambda: (leaf(2) * 1).backward(ones(3)),
     "backward: the gradient has shape (3,) but its tensor has shape (2,); give a gradient of the"
     " tensor's shape"),
    ("GradientShape", lambda: setattr(leaf(2), "grad", ones(3)),
     "grad: the gradient has shape (3,) but its tensor has shape (2,); give a gradient of the"
     " tensor's shape"),
    ("Unreachable", lambda: fg.autograd.grad(leaf(1) * 2, [leaf(1)]),
     "grad: input 0 was not used to compute the outputs; pass allow_unused=True to get None, or"
     " materialize_grads=True to get zeros"),
    ("GraphFreed", freed,
     'backward: the saved values of "exp" were freed by an earlier backward; pass retain_graph=True'
     " to the first call, or, where a tensor holds what an earlier step wrote into it, begin with"
     " b[:] = 0 or b.detach_()"),
    ("Modified", modified,
     'backward: a value saved by "multiply" was changed in place by "add" (version 0 became 1);'
     " change a clone() instead, or call backward first; see docs/when_it_goes_wrong.md"),
    ("InPlace", lambda: leaf(2).__setitem__(0, 1.0),
     "setitem: a leaf that requires grad cannot be changed in place while recording; change it"
     " under"
     " no_grad(), or compute a new tensor; see docs/when_it_goes_wrong.md"),
    ("InPlace", lambda: ones(1).expand(3).__setitem__(..., 1.0),
     "setitem: several elements of an expanded tensor share one memory location; clone() it first"),
    ("Inference", lambda: made_in_inference_mode().requires_grad_(),
     "requires_grad: a tensor made in inference mode was to require grad; clone() it outside"
     " inference mode"),
    ("KeptTangent", kept_tangent,
     "multiply: used a tensor of shape (2,) that sin made in an earlier call of a transform, which"
     " has ended, so that the derivative through it would be missing; compute it in this call, or"
     " keep x.detach() or an array where a constant is meant; begin a workspace that is used again"
     " with b[:] = 0 (fg.record_call_sites() tells the line that made it); see"
     " docs/when_it_goes_wrong.md"),
    ("NotDifferentiable", lambda: Rootless.apply(leaf(2)),
     "Rootless: the class has no backward and an argument requires grad; define a static"
     " backward(ctx,"
     " *grads), or call it under no_grad()"),
    ("Exchange", lambda: ones(2).__dlpack__(stream=1),
     "__dlpack__: a stream was given, and the CPU has none; pass stream=None"),
    ("GraphCut", lambda: np.asarray(leaf(2)),
     "numpy.asarray: the result would silently leave the graph of a tensor that requires grad; use"
     " fg.stack for several tensors, ferrograd.numpy and ferrograd.scipy, whose functions take"
     " tensors and lists of them, or detach() or no_grad() to mean it"),
    ("State", lambda: (leaf(2) * 1).requires_grad_(False),
     "requires_grad: only leaf tensors can change requires_grad; use detach() for a tensor outside"
     " the graph"),
    ("State", lambda: ones(2).retain_grad(),
     "retain_grad: the tensor does not require grad; set requires_grad=True on an input first"),
    ("State", lambda: fg.autograd.grad(leaf(1) * 2, ones(1)),
     "grad: input 0 does not require grad; set requires_grad=True on it before computing the"
     " outputs"),
    ("Contract", lambda: custom(None), "Backward pass returned null"),
    ("Gradients", lambda: custom([ones(3)]),
     "Gradient at index 0 has shape (3,) but expected (2,)"),
    ("SavedIndex", lambda: custom(lambda ctx: [ctx.get_saved_tensor(0)]),
     "Tensor index 0 is out of range"),
]
# fmt: on

#: Variants that no call of a user can be made to raise here.
REASONS = {
    "Internal": "a bug of ours: nothing known raises it",
    "Interrupted": "a signal during a backward: test_autograd.py sends one",
    "NotTraceable": "what a compiled function must not do: test_compile_refusals.py",
    "Diverged": "ends a replay: test_compile.py sees that the function is recorded again",
    "Enough": "ends the repetition of a checkpoint: test_checkpoint.py sees that it stays inside",
    "Cycle": "an edge always goes to an older node; tests/graph_*.rs closes one by hand",
}


def declared() -> dict[str, tuple[str, re.Pattern[str]]]:
    """The class and the pattern of the text of every variant of the enum."""
    source = ERRORS.read_text(encoding="utf-8")
    rows = re.findall(r'(\w+) \{[^}]*\} => (\w+),\s*"((?:[^"\\]|\\.)*)"[^";]*;', source)
    found = {}
    for variant, name, text in rows:
        # A call site prints nothing when it was not recorded.
        parts = re.split(r"(\{\w*\})", text.replace('\\"', '"'))
        patterns = [
            re.escape(part) if i % 2 == 0 else ".*" if part.endswith("_at}") else ".+"
            for i, part in enumerate(parts)
        ]
        found[variant] = name, re.compile("".join(patterns), re.DOTALL)
    return found


DECLARED = declared()


@pytest.mark.parametrize(
    ("variant", "call", "text"), TABLE, ids=[f"{i}-{row[0]}" for i, row in enumerate(TABLE)]
)
def test_the_exact_text(variant: str, call: Callable[[], Any], text: str) -> None:
    with pytest.raises(fg.errors.FerrogradError) as caught:
        call()
    name, pattern = DECLARED[variant]
    fixed = variant in ("Contract", "Gradients", "SavedIndex")
    found = str(caught.value)
    assert found.startswith(text) if fixed else found == text, found
    assert type(caught.value) is getattr(fg.errors, name)
    assert pattern.fullmatch(found)


def test_every_variant_has_a_row_or_a_reason() -> None:
    assert len(DECLARED) > 30, "the declarations were not found"
    covered = {row[0] for row in TABLE}
    assert covered | REASONS.keys() == DECLARED.keys()
    assert not covered & REASONS.keys()


def test_the_stub_declares_the_bases_that_the_classes_have() -> None:
    stub = ast.parse((Path(fg.__file__).parent / "_core.pyi").read_text())
    said = {
        node.name: [ast.unparse(base).rsplit(".", 1)[-1] for base in node.bases]
        for node in stub.body
        if isinstance(node, ast.ClassDef)
    }
    members = [getattr(fg._core, name) for name in dir(fg._core)]
    classes = [c for c in members if isinstance(c, type) and issubclass(c, Exception)]
    assert len(classes) > 15
    for found in classes:
        assert said[found.__name__] == [base.__name__ for base in found.__bases__], found


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        *(("ShapeError", ValueError), ("AxisError", ValueError), ("AxisError", IndexError)),
        *(
            ("DTypeError", TypeError),
            ("ArgumentError", ValueError),
            ("GradientError", RuntimeError),
        ),
        *(("ArgumentTypeError", TypeError), ("IndexOutOfRangeError", IndexError)),
        *(("OutOfMemoryError", MemoryError), ("GraphFreedError", RuntimeError)),
        *(
            ("InPlaceError", RuntimeError),
            ("CycleError", RuntimeError),
            ("InternalError", RuntimeError),
        ),
        *(
            ("MatrixError", ValueError),
            ("NotDifferentiableError", NotImplementedError),
            ("GraphCutError", TypeError),
        ),
        *(("ContractError", RuntimeError), ("GradcheckError", RuntimeError)),
        ("GraphCutWarning", UserWarning),
    ],
)
def test_classes_inherit_what_users_catch(name: str, builtin: type[Exception]) -> None:
    found = getattr(fg.errors, name)
    assert issubclass(found, builtin)
    assert found.__doc__
    assert found.__module__.startswith("ferrograd")
    assert issubclass(found, Warning) or issubclass(found, fg.errors.FerrogradError)


def test_exceptions_of_user_code_pass_unchanged_with_a_note() -> None:
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        raising()
    assert str(caught.value) == "mine"
    assert any("Raises" in note for note in caught.value.__notes__)
    frames = [frame.name for frame in caught.traceback]
    assert frames[-1] == "backward"


@pytest.mark.parametrize("other", ["a", None, object(), {}])
@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%", "**", "@", "<", "&"])
def test_operators_leave_foreign_operands_to_python(symbol: str, other: Any) -> None:
    sides = ["x {} other"] if isinstance(other, str) else ["x {} other", "other {} x"]
    for side in sides:
        with pytest.raises(TypeError, match=r"unsupported|not supported|the operand is a str"):
            _ = eval(side.format(symbol), {"x": ones(2), "other": other})


@pytest.mark.parametrize("size", [-1, 2.5, "a", None, (2, "a"), (2, -1)])
def test_shapes_that_are_none(size: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"zeros|full"):
        fg.zeros(size)


def test_the_graph_stays_usable_after_every_error() -> None:
    x = leaf(2)
    y = x * 3
    for _, call, _ in TABLE:
        with pytest.raises(fg.errors.FerrogradError):
            call()
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 3.0])
    assert fg.is_grad_enabled()
