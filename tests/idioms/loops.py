"""Statements that loop: over elements, rows and ranges, into buffers and lists.

A rule writes lines, or None where the scope has nothing to apply it to.
"""

from typing import Any

from idioms.scope import Scope, is_number, may_change, shape_of
from idioms.statements import Lines, augmented, rule


class Inside:
    """Names that exist only inside a loop, in scope while its body is written."""

    def __init__(self, scope: Scope, **names: Any) -> None:
        self.scope, self.names = scope, names

    def __enter__(self) -> None:
        self.scope.names.update(self.names)

    def __exit__(self, *error: object) -> None:
        for name in self.names:
            del self.scope.names[name]


def buffer(scope: Scope, shape: str, like: str | None = None) -> str:
    """A buffer that is written entirely afterwards."""
    forms = ["np.zeros({s})", "np.zeros({s})", "np.empty({s})", "np.ones({s})"]
    forms += ["np.full({s}, 0.5)"]
    if like is not None:
        forms += [f"np.zeros_like({like})", f"np.empty_like({like})", f"np.ones_like({like})"]
    return scope.rng.choice(forms).format(s=shape)


@rule(2)
def over_elements(scope: Scope) -> Lines:
    """`for q in y: q *= 2`: the elements are values."""
    found = scope.array(1)
    if found is None:
        return None
    place, _ = found
    q, s = scope.fresh("q"), scope.fresh("s")
    with Inside(scope, **{q: 0.5}):
        change = augmented(scope, q, ())
    forms = (
        [f"{s} = 0.0", f"for {q} in {place}:", f"    {change}", f"    {s} += {q} * 0.4"],
        [f"{s} = []", f"for {q} in {place}:", f"    {s}.append({q})", f"    {change}"],
        [f"for {s}, {q} in enumerate({place}):", f"    {change}", f"    {place}[{s}] = {q}"],
        [f"{s} = 0.0", f"for {q} in {place}:", f"    {place}[0] *= 0.5", f"    {s} += {q} * 0.3"],
        [f"{s} = [np.sin({q}) for {q} in {place}]"],
        [f"{s} = list({place})", f"{s}[0] += {scope.scalar(0)}"],
        [f"for {q} in {place}:", f"    {change}"],
        [f"{s} = max({place}) - 0.5 * min({place})" if scope.dynamic else f"{s} = sum({place})"],
        [f"{s} = list(reversed({place}))", f"{place}[0] += 0.5"],
    )
    return scope.rng.choice(forms)


@rule(1)
def over_pairs(scope: Scope) -> Lines:
    a, b = scope.array(1), scope.array(1)
    if a is None or b is None:
        return None
    p, q, s = scope.fresh("p"), scope.fresh("q"), scope.fresh("s")
    lines = [f"{s} = 0.0", f"for {p}, {q} in zip({a[0]}, {b[0]}):"]
    changes = [f"    {p} += {q}", f"    {q} -= 0.5 * {p}", f"    {p} *= 0.7"]
    return [*lines, scope.rng.choice(changes), f"    {s} += 0.3 * {p} * {q}"]


@rule(2)
def over_rows(scope: Scope) -> Lines:
    """`for row in A: row += 1`: the rows are memory."""
    found = scope.array(2, written=True)
    if found is None:
        return None
    place, (_, columns) = found
    row = scope.fresh("row")
    with Inside(scope, **{row: scope.value(place)[0]}):
        change = augmented(scope, row, (columns,))
        value = scope.scalar(1)
    j = scope.index(columns)
    forms = (
        [f"for {row} in {place}:", f"    {change}"],
        [f"for {row} in {place}:", f"    {row}[{j}] = {value}"],
        [f"for {row} in {place}:", f"    {row}[:] = {row}[::-1]"],
        [f"for {row} in {place}.T:", f"    {row} *= 0.8"],
        [f"for {row} in {place}:", f"    for q in {row}:", "        q *= 2.0"],
        [f"for {row} in list({place}):", f"    {row}[{j}] += 0.3"],
    )
    return scope.rng.choice(forms)


@rule(2.5)
def filled(scope: Scope) -> Lines:
    """A buffer of which every element or row is written by a loop."""
    found = scope.array(1)
    if found is None:
        return None
    place, (n,) = found
    name, k = scope.fresh("buf"), scope.rng.randint(2, 3)
    s = scope.scalar(1)
    one = buffer(scope, str(n), place)
    wide = buffer(scope, f"({n}, {k})")
    rows = buffer(scope, f"({k}, {n})")
    v = scope.vector(n, 1)
    forms = (
        [f"{name} = {one}", f"for i in range({n}):", f"    {name}[i] = {place}[i] * {s}"],
        [f"{name} = {one}", f"for i, q in enumerate({place}):", f"    {name}[i] = np.sin(q + {s})"],
        [
            f"{name} = {wide}",
            f"for i in range({n}):",
            f"    for j in range({k}):",
            f"        {name}[i, j] = {place}[i] * 0.5 + j * {s}",
        ],
        [f"{name} = {rows}", f"for i in range({k}):", f"    {name}[i] = np.tanh({v} + i)"],
        [
            f"{name} = {rows}",
            f"for i in range({k}):",
            f"    {name}[i, :] = {place}",
            f"    {place} *= 0.7",
        ],
        [f"{name} = {wide}", f"for j in range({k}):", f"    {name}[:, j] = {v} * (j + 0.5)"],
        [f"{name} = np.eye({n})", f"for i in range({n}):", f"    {name}[i, i] = {place}[i]"],
        [f"{name} = np.eye({n})", f"{name}[0] += {v}", f"{name}[:, -1] *= {s}"],
    )
    return scope.rng.choice(forms)


@rule(2.5)
def recurrence(scope: Scope) -> Lines:
    """A buffer of which an element or row is computed from those before."""
    found = scope.array(1)
    if found is None:
        return None
    y, (n,) = found
    u, k = scope.fresh("u"), scope.rng.randint(2, 4)
    s, t = scope.scalar(1), scope.without_axes()
    one, rows = buffer(scope, str(k + 1)), buffer(scope, f"({k + 1}, {n})")
    loop, inner = f"for t in range({k}):", f"    for j in range({n}):"
    forms = (
        [f"{u} = {one}", f"{u}[0] = {s}", loop, "    {u}[t + 1] = {u}[t] * 0.6 + np.sin({u}[t])"],
        [
            f"{u} = {rows}",
            f"{u}[0] = {y}",
            loop,
            f"    {{u}}[t + 1] = np.sin({{u}}[t] * {t}) * 0.6",
        ],
        [f"{u} = {rows}", f"{u}[0] = {y}", loop, "    {u}[t + 1] += {u}[t] * {u}[0]"],
        [f"{u} = np.zeros({k + 1})", loop, f"    {{u}}[t + 1] += {{u}}[t] * 0.5 + {s}"],
        [f"{u} = {y}.copy()", f"for t in range(1, {n}):", "    {u}[t] = {u}[t] + 0.5 * {u}[t - 1]"],
        [
            f"{u} = {y}.copy()",
            loop,
            "    {u}[1:] = 0.5 * ({u}[1:] + {u}[:-1])",
            f"    {u}[0] *= {t}",
        ],
        [f"{u} = {y}.copy()", loop, f"    {{u}} += 0.1 * np.cos({{u}}) * {t}"],
        [f"{u} = {y}.copy()", loop, f"    {{u}} = {{u}} + 0.1 * {t}", "    {u}[0] = {u}[-1]"],
        [
            f"{u} = {rows}",
            f"{u}[:] = {y}",
            f"for t in range(1, {k}):",
            inner,
            "        {u}[t, j] = np.tanh({u}[t - 1, j] + {u}[t, j - 1])",
        ],
        [
            f"{u} = np.ones(({k}, {k})) * {s}",
            f"for i in range(1, {k}):",
            f"    for j in range(1, {k}):",
            f"        {{u}}[i, j] = 0.4 * ({{u}}[i - 1, j] + {{u}}[i, j - 1]) + {t} * 0.1",
        ],
    )
    return [line.replace("{u}", u) for line in scope.rng.choice(forms)]


@rule(2.5)
def trajectory(scope: Scope) -> Lines:
    """A state that is changed step by step and kept in a list."""
    place = scope.find(is_number)
    if place is None:
        return None
    shape = shape_of(scope.value(place)) or ()
    x, out = scope.fresh("x"), scope.fresh("out")
    steps = scope.rng.randint(2, 3)
    begin = scope.rng.choice(("{p}", "{p} * 1.0", "+{p}", "copy.copy({p})")).format(p=place)
    with Inside(scope, **{x: scope.value(place)}):
        change = augmented(scope, x, shape)
    kept = scope.rng.choice((x, x, f"{x} * 1.0", f"np.copy({x})"))
    lines = [f"{x}, {out} = {begin}, []", f"for i in range({steps}):", f"    {change}"]
    lines.append(f"    {out}.append({kept})")
    if scope.rng.random() < 0.5:
        joined = scope.rng.choice(("np.array({o})", "np.stack({o})", "sum({o}) * 0.3"))
        lines.append(f"{scope.fresh('h')} = {joined.format(o=out)}")
    return lines


@rule(2)
def accumulated(scope: Scope) -> Lines:
    """A running sum or product of elements."""
    found = scope.array(1)
    if found is None:
        return None
    y, (n,) = found
    s, v, e = scope.fresh("acc"), scope.fresh("v"), scope.without_axes()
    each = (
        f"for i in range({scope.rng.choice((str(n), f'len({y})', f'{y}.size', f'{y}.shape[0]'))}):"
    )
    forms = (
        ["{s} = 0.0", each, f"    {{s}} += 0.4 * {y}[i] * {e}"],
        ["{s} = 1.0", each, f"    {{s}} *= 0.5 + np.tanh({y}[i])"],
        [f"{{s}} = {y}[0]", each, f"    {{s}} += 0.3 * {y}[i]"],
        [f"{{s}} = {y}[0]", each, f"    {{s}} += 0.2 * {y}[i]", f"    {y}[i] = {{s}} * 0.5"],
        ["{s} = np.zeros(())", f"for q in {y}:", "    {s} += 0.3 * q"],
        ["{s} = np.zeros(2)", f"for q in {y}:", "    {s}[0] += 0.3 * q", "    {s}[1] -= q"],
        [f"{{s}}, {{v}} = {e}, {y}[0]", each, "    {s}, {v} = {s} + 0.1 * {v}, {v} - 0.1 * {s}"],
        [f"{{s}}, {{v}} = {y}[0], {y}[-1]", each, "    {v} -= 0.2 * {s}", "    {s} += 0.2 * {v}"],
        [f"{{v}} = {y}[-1]", f"{y}[-1] += 0.1 * {e}", f"{y}[0] += 0.2 * {{v}}"],
        ["{s} = 0.0", "k = 0", f"while k < {n}:", f"    {{s}} -= 0.3 * {y}[k]", "    k += 1"],
        [f"{{s}} = {y}[0]", each, f"    {{s}} = np.maximum({{s}}, {y}[i])", "{s} *= 0.5"],
    )
    return [line.replace("{s}", s).replace("{v}", v) for line in scope.rng.choice(forms)]


@rule(1)
def state_of_container(scope: Scope) -> Lines:
    """A simulation whose state is in a dict or an object."""
    a, b = scope.without_axes(), scope.without_axes()
    st, steps = scope.fresh("st"), scope.rng.randint(2, 3)
    x, v = (f'{st}["p"]', f'{st}["q"]')
    begin = f'{st} = {{"p": {a}, "q": {b}}}'
    if scope.rng.random() < 0.5:
        x, v, begin = f"{st}.p", f"{st}.q", f"{st} = SimpleNamespace(p={a}, q={b})"
    log = scope.fresh("log")
    lines = [begin, f"{log} = []", f"for i in range({steps}):", f"    old = {x}"]
    lines += [f"    {x} += 0.2 * {v}", f"    {v} -= 0.1 * np.sin(old)"]
    return [*lines, f"    {log}.append({x})"]


@rule(1)
def a_class(scope: Scope) -> Lines:
    """An object whose method changes it; `dataclasses`' copies of one."""
    a, b = scope.without_axes(), scope.without_axes()
    if found := scope.array(1):
        a = scope.rng.choice((a, f"{found[0]} * 1.0", found[0]))
    o, d, name = scope.fresh("o"), scope.fresh("d"), scope.fresh("Body")
    step = scope.rng.choice(("self.p += dt * self.q", "self.p = self.p + dt * self.q"))
    lines = ["@dataclasses.dataclass", f"class {name}:", "    p: object", "    q: object"]
    lines += ["    def step(self, dt):", f"        {step}", "        self.q -= dt * np.sin(self.q)"]
    lines += [f"{o} = {name}({a}, {b})"]
    forms = ("dataclasses.replace({o}, q={b})", "dataclasses.asdict({o})", "copy.copy({o})")
    copied = scope.rng.choice((*forms, "copy.deepcopy({o})", "{o}")).format(o=o, b=b)
    return [*lines, f"{d} = {copied}", "for i in range(2):", f"    {o}.step(0.2)"]


@rule(0.7)
def late(scope: Scope) -> Lines:
    """A function or generator that reads a name after it has changed."""
    place = scope.find(may_change)
    if place is None:
        return None
    change = augmented(scope, place, shape_of(scope.value(place)) or ())
    g, r = scope.fresh("g"), scope.fresh("r")
    forms = (
        [f"{g} = lambda t: np.tanh({place} * t)", change, f"{r} = {g}(0.5)"],
        [f"{g} = lambda t={place}: t * 0.5", change, f"{r} = {g}()"],
        [
            f"{g} = ({place} * k for k in (0.2, 0.5))",
            f"{r} = next({g})",
            change,
            f"{r} = {r} + next({g})",
        ],
    )
    return scope.rng.choice(forms)
