"""Statements that do not loop: assignments, aliases, copies, writes, `out=`.

A rule writes the lines of a statement, or None where the scope has nothing to apply it to.
"""

from collections.abc import Callable

from idioms.scope import (
    Scope,
    in_order,
    is_memory,
    is_number,
    is_object,
    is_scalar,
    may_change,
    shape_of,
)

Lines = list[str] | None
Rule = Callable[[Scope], Lines]
RULES: dict[Rule, float] = {}


def rule(weight: float) -> Callable[[Rule], Rule]:
    """Adds a function to the table."""

    def added(function: Rule) -> Rule:
        RULES[function] = weight
        return function

    return added


def augmented(scope: Scope, target: str, shape: tuple[int, ...]) -> str:
    """`target op= expression`, with operators that keep values bounded."""
    value = scope.operand(shape, 1)
    forms = (
        "{t} += {v}",
        "{t} += 0.1 * {v}",
        "{t} -= {v}",
        "{t} *= {v}",
        "{t} *= {c}",
        "{t} /= 1.5 + np.square({v})",
        "{t} /= 2.0",
        "{t} **= 2",
        "{t} -= {c}" if 0 in shape or not shape else "{t} -= {t}.mean()",
    )
    return scope.rng.choice(forms).format(t=target, v=value, c=scope.number())


def part(scope: Scope) -> tuple[str, tuple[int, ...]] | None:
    """Some elements of an array, as the target of a write, with their shape."""
    place = scope.find(lambda v: is_memory(v) and v.ndim > 0)
    if place is None:
        return None
    shape = scope.value(place).shape
    return (
        part_of_vector(scope, place, shape[0]) if len(shape) == 1 else part_of_matrix(scope, place)
    )


def part_of_vector(scope: Scope, place: str, n: int) -> tuple[str, tuple[int, ...]]:
    """Elements of a vector."""
    begin = scope.rng.randrange(n)
    chosen = sorted({scope.rng.randrange(n) for _ in range(2)})
    forms: list[tuple[str, tuple[int, ...]]] = [
        (f"{place}[{scope.index(n)}]", ()),
        (f"{place}[{scope.index(n)}]", ()),
        (f"{place}[{begin}:]", (n - begin,)),
        (f"{place}[:{begin + 1}]", (begin + 1,)),
        (f"{place}[::2]", ((n + 1) // 2,)),
        (f"{place}[::-1]", (n,)),
        (f"{place}[{chosen}]", (len(chosen),)),
        (f"{place}[np.array({chosen})]", (len(chosen),)),
        (f"{place}[:]", (n,)),
        (f"{place}[...]", (n,)),
        (f"{place}[{begin}, ...]", ()),
        (f"{place}[None][0]", (n,)),
    ]
    if scope.dynamic:
        forms += [(f"{place}[{place} > {scope.number()}]", ())] * 2
    return scope.rng.choice(forms)


def part_of_matrix(scope: Scope, place: str) -> tuple[str, tuple[int, ...]]:
    """Elements of a matrix."""
    rows, columns = scope.value(place).shape
    i, j = scope.index(rows), scope.index(columns)
    forms: list[tuple[str, tuple[int, ...]]] = [
        (f"{place}[{i}, {j}]", ()),
        (f"{place}[{i}][{j}]", ()),
        (f"{place}[{i}]", (columns,)),
        (f"{place}[{i}, :]", (columns,)),
        (f"{place}[:, {j}]", (rows,)),
        (f"{place}[{i}][::-1]", (columns,)),
        (f"{place}[{i}][1:]", (columns - 1,)),
        (f"{place}.T[{j}]", (rows,)),
        (f"{place}.T[{j}][{i}]", ()),
        (f"{place}[1:, :]", (rows - 1, columns)),
        (f"{place}[:, ::2]", (rows, (columns + 1) // 2)),
        (f"{place}[[0, {rows - 1}], [0, {columns - 1}]]", (2,)),
        (f"{place}[...]", (rows, columns)),
        (f"{place}[np.ix_([0, {rows - 1}], [{columns - 1}])]", ()),
        (f"{place}[{i}:{i % rows + 1}, {j}]", ()),
    ]
    if in_order(scope.value(place)):
        forms.append((f"{place}.reshape(-1)[{scope.rng.randrange(rows * columns)}]", ()))
        forms.append((f"{place}.ravel()[{scope.rng.randrange(rows * columns)}]", ()))
    return scope.rng.choice(forms)


# --- new names -----------------------------------------------------------------------------------


@rule(5)
def scalar(scope: Scope) -> Lines:
    return [f"{scope.fresh('s')} = {scope.scalar()}"]


@rule(3)
def element(scope: Scope) -> Lines:
    name = scope.fresh("e")
    return [f"{name} = {scope.without_axes()}"]


@rule(5)
def vector(scope: Scope) -> Lines:
    found = scope.array(1)
    n = found[1][0] if found else 3
    return [f"{scope.fresh('v')} = {scope.vector(n)}"]


@rule(2.5)
def matrix(scope: Scope) -> Lines:
    found = scope.array(2) if scope.rng.random() < 0.6 else None
    shape = found[1] if found else (scope.rng.randint(2, 3), scope.rng.randint(2, 4))
    return [f"{scope.fresh('A')} = {scope.matrix(shape)}"]


@rule(2)
def without_axes(scope: Scope) -> Lines:
    """Memory without axes."""
    name = scope.fresh("z")
    found = scope.array(1)
    forms = ["np.zeros(())", f"np.array({scope.scalar(1)})", f"np.full((), {scope.scalar(1)})"]
    forms += ["np.ones(()) * 1.0", f"np.asarray({scope.without_axes()})"]
    if found:
        place, (n,) = found
        i = scope.index(n)
        forms += [f"{place}[..., {i}]", f"{place}[{i}, ...]", f"{place}[{n - 1}:].reshape(())"]
        forms += [f"{place}.sum(keepdims=True)[0] * 0.2", f"np.squeeze({place}[:1])"]
    return [f"{name} = {scope.rng.choice(forms)}"]


@rule(6)
def alias(scope: Scope) -> Lines:
    """Another name of the same memory, or of a part of it."""
    place = scope.find(lambda v: shape_of(v) is not None)
    if place is None:
        return None
    shape = scope.value(place).shape
    forms = ["{p}", "{p}", "{p}[...]", "np.asarray({p})", "{p}.reshape({p}.shape)"]
    if len(shape) == 0:
        forms += ["{p}[()]", "{p}.reshape(1)", "{p}[None]", "np.atleast_1d({p})"]
    if len(shape) == 1:
        forms += ["{p}[1:]", "{p}[:-1]", "{p}[::2]", "{p}[::-1]", "{p}[:]", "{p}[:, None]"]
        forms += ["{p}.T", "{p}.reshape(1, -1)", "{p}.reshape(-1, 1)", "np.ravel({p})", "{p}[-2:]"]
    if len(shape) == 2:
        forms += ["{p}.T", "{p}[0]", "{p}[-1, :]", "{p}[:, 0]", "{p}[:, -1]", "{p}.reshape(-1)"]
        forms += ["{p}[1:]", "{p}[:, 1:]", "{p}.ravel()", "np.transpose({p})", "{p}.swapaxes(0, 1)"]
        forms += ["{p}[::-1, ::-1]", "np.diag({p})", "{p}.T[1:]"]
    if not in_order(scope.value(place)):
        forms = [form for form in forms if "reshape(-1)" not in form and "ravel" not in form]
    return [f"{scope.fresh('w')} = {scope.rng.choice(forms).format(p=place)}"]


@rule(3)
def copied(scope: Scope) -> Lines:
    """A copy, by one of the ways to make one."""
    deep = ("copy.deepcopy({p})", "copy.copy({p})")
    if scope.rng.random() < 0.3:
        place = scope.find(lambda v: type(v) in (list, dict) or is_object(v))
        if place is not None:
            return [f"{scope.fresh('d')} = {scope.rng.choice(deep).format(p=place)}"]
    place = scope.find(is_number)
    if place is None:
        return None
    forms = (
        "{p}.copy()",
        "np.copy({p})",
        "+{p}",
        "np.array({p})",
        "{p} * 1.0",
        "{p}.astype(float)",
    )
    if type(scope.value(place)) is float:
        forms = ("+{p}", "np.array({p})", "{p} * 1.0")
    return [f"{scope.fresh('c')} = {scope.rng.choice(forms + deep).format(p=place)}"]


@rule(2)
def unpacked(scope: Scope) -> Lines:
    """`a, b, c = y`, then one of the names changes."""
    found = scope.array(scope.rng.choice((1, 1, 2)))
    if found is None or found[1][0] > 5:
        return None
    place, shape = found
    names = [scope.fresh("q") for _ in range(shape[0])]
    pattern = ", ".join(names) if len(names) > 1 else f"({names[0]},)"
    if len(names) > 2 and scope.rng.random() < 0.2:
        rest = scope.fresh("r")
        return [f"{names[0]}, *{rest} = {place}", augmented(scope, names[0], shape[1:])]
    return [f"{pattern} = {place}", augmented(scope, scope.rng.choice(names), shape[1:])]


@rule(1.5)
def chained(scope: Scope) -> Lines:
    """One value under two names, of which one changes."""
    found = scope.array(scope.rng.choice((0, 1, 2)))
    shape = found[1] if found and scope.rng.random() < 0.6 else ()
    a, b = scope.fresh("a"), scope.fresh("b")
    return [f"{a} = {b} = {scope.of_shape(shape)}", augmented(scope, b, shape)]


@rule(1)
def kept_then_changed(scope: Scope) -> Lines:
    """`old = st["x"]; st["x"] += …`."""
    place = scope.find(may_change)
    if place is None:
        return None
    shape = shape_of(scope.value(place)) or ()
    return [f"{scope.fresh('old')} = {place}", augmented(scope, place, shape)]


# --- writes --------------------------------------------------------------------------------------


@rule(9)
def augmented_name(scope: Scope) -> Lines:
    place = scope.find(may_change)
    if place is None:
        return None
    return [augmented(scope, place, shape_of(scope.value(place)) or ())]


@rule(7)
def augmented_part(scope: Scope) -> Lines:
    found = part(scope)
    return None if found is None else [augmented(scope, *found)]


@rule(7)
def assigned_part(scope: Scope) -> Lines:
    found = part(scope)
    return None if found is None else [f"{found[0]} = {scope.operand(found[1], 2)}"]


@rule(3)
def swapped(scope: Scope) -> Lines:
    found = scope.array(scope.rng.choice((1, 1, 2)), least=2, written=True)
    if found is None:
        return None
    place, shape = found
    i, j = scope.rng.sample(range(shape[0]), 2)
    forms = ["{p}[{i}], {p}[{j}] = {p}[{j}], {p}[{i}]", "{p}[[{i}, {j}]] = {p}[[{j}, {i}]]"]
    if len(shape) == 2:
        forms.append("{p}[{i}], {p}[{j}] = {p}[{j}].copy(), {p}[{i}].copy()")
        if shape[0] == shape[1]:
            forms += ["{p}[:, -1] = {p}[{i}]", "{p}[{i}, :] = {p}[:, {j}]", "{p} += {p}.T * 0.5"]
        forms.append("{p}[:, 0], {p}[:, 1] = {p}[:, 1], {p}[:, 0].copy()")
    else:
        forms.append("{p}[{i}], {p}[{j}] = {p}[{j}] * 0.5, {p}[{i}] + {p}[{j}]")
        forms.append("{p}[:] = {p}[::-1]")
        forms.append("{p}[1:], {p}[0] = {p}[:-1], {p}[-1]")
        forms.append("{p}[{i}:], {p}[{j}] = {p}[{i}:] * 0.5, {p}[{j}] * 2.0")
        forms.append("{p}[1:] = {p}[:-1]")
        forms.append("{p}[:-1] += {p}[1:]")
    return [scope.rng.choice(forms).format(p=place, i=i, j=j)]


@rule(1)
def swapped_names(scope: Scope) -> Lines:
    a, b = scope.find(is_scalar), scope.find(is_number)
    return [f"{a}, {b} = {b}, {a} + 0.1"] if a and b and a != b else None


@rule(4)
def output(scope: Scope) -> Lines:
    """`out=` of a ufunc or a reduction."""
    place = scope.find(is_memory)
    if place is None:
        return None
    shape = scope.value(place).shape
    a, b = scope.operand(shape, 1), scope.operand(shape, 1)
    forms = [
        "np.multiply({p}, {a}, out={p})",
        "np.add({p}, {a}, out={p})",
        "np.add({a}, {b}, out={p})",
        "np.subtract({a}, {p}, out={p})",
        "np.sin({p}, out={p})",
        "np.tanh({a}, out={p})",
        "np.negative({p}, out={p})",
        "np.clip({p}, -0.75, 0.85, out={p})",
        "np.copyto({p}, {a})",
        "np.divide({p}, 2.0 + np.square({a}), {p})",
        "{w} = np.multiply({p}, {a}, out={p})",
    ]
    if len(shape) == 1:
        forms += ["np.cumsum({p}, out={p})", "np.add({p}[1:], {p}[:-1], out={p}[1:])"]
    if len(shape) == 2:
        forms += ["np.sum({p}, axis=0, out={p}[0])", "np.multiply({p}[0], {p}[-1], out={p}[0])"]
    return [scope.rng.choice(forms).format(p=place, a=a, b=b, w=scope.fresh("w"))]


@rule(2.5)
def method(scope: Scope) -> Lines:
    """Functions and methods of NumPy that write."""
    found = scope.array(scope.rng.choice((1, 1, 2)), written=True)
    if found is None:
        return None
    place, shape = found
    s, n = scope.scalar(1), shape[0]
    i, j = scope.rng.randrange(n), scope.rng.randrange(n)
    forms = ["{p}.fill({s})", "{p}.sort()", "{p}[...] = {s}"]
    if len(shape) == 1:
        v = scope.vector(2, 1)
        forms += ["np.add.at({p}, [{i}, {j}], {v})", "np.add.at({p}, [{i}, {i}], {s})"]
        forms += ["np.subtract.at({p}, [{j}, {i}], {v})", "np.put({p}, [{i}, {j}], {v})"]
        forms += ["{p}.put([{i}], {s})", "{p}[:2].sort()", "np.add.at({p}, {i}, {s})"]
        forms += ["np.put_along_axis({p}, np.array([{i}]), {s}, 0)"]
        forms += ["np.putmask({p}, {p} > 0.1, {s})", "np.place({p}, {p} > 0.1, [{s}, {a}])"]
        forms += ["{p}.partition(1)", "np.put({p}, [{i}, {j}, {i}], {v}, mode='wrap')"]
    else:
        v = scope.vector(shape[1], 1)
        forms += ["np.fill_diagonal({p}, {s})", "{p}.sort(axis=0)", "np.add.at({p}, {i}, {v})"]
        forms += ["np.copyto({p}[{i}], {v})", "{p}[{i}].fill({s})", "np.fill_diagonal({p}, {v})"]
    form = scope.rng.choice(forms)
    return [form.format(p=place, s=s, i=i, j=j, v=v, a=scope.scalar(0))]


@rule(1.5)
def masked(scope: Scope) -> Lines:
    """A mask that has a name, for reading and writing."""
    found = scope.array(1, written=True)
    if found is None:
        return None
    place, (n,) = found
    m = scope.fresh("m")
    forms = [f"{place}[{m}] = {scope.scalar(1)}", f"{place}[{m}] *= {scope.scalar(0)}"]
    forms += [f"{place}[{m}] += {place}[{m}] * 0.5", f"{place}[~{m}] = 0.0"]
    chosen = [bool(scope.rng.randrange(2)) for _ in range(n)]
    if not scope.dynamic:
        return [f"{m} = np.array({chosen})", scope.rng.choice(forms)]
    return [f"{m} = {place} > {scope.number()}", scope.rng.choice(forms)]
