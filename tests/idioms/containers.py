"""Statements about containers, functions, branches and whole numbers.

A rule writes lines, or None where the scope has nothing to apply it to.
"""

from idioms.scope import Scope, is_object, is_scalar, may_change, shape_of
from idioms.statements import Lines, augmented, rule


@rule(2)
def container(scope: Scope) -> Lines:
    """A list, a dict or an object of values; arrays go in by reference."""
    a, b = scope.scalar(1), scope.scalar(0)
    place = scope.find(lambda v: shape_of(v) not in (None, ())) or scope.scalar(1)
    forms = (
        '{l} = {{"p": {a}, "q": {v}}}',
        "{l} = SimpleNamespace(p={a}, q={v})",
        "{l} = [{a}, {v}, {b}]",
        "{l} = dict(p={v}, q={b})",
    )
    name = scope.fresh("st")
    return [scope.rng.choice(forms).format(l=name, a=a, b=b, v=place)]


@rule(1.5)
def entry(scope: Scope) -> Lines:
    """An entry that is bound anew or added."""
    place = scope.find(lambda v: type(v) in (list, dict) or is_object(v))
    if place is None:
        return None
    value = scope.scalar(1)
    if scope.rng.random() < 0.4:
        value = scope.find(lambda v: shape_of(v) is not None) or value
    kind = type(scope.value(place))
    if kind is list:
        forms = ("{p}.append({v})", "{p}.insert(0, {v})", "{p} += [{v}]", "{p}[-1] = {v}")
        return [scope.rng.choice(forms).format(p=place, v=value)]
    return [f'{place}["p"] = {value}' if kind is dict else f"{place}.p = {value}"]


@rule(1.2)
def changing_function(scope: Scope) -> Lines:
    """A function that changes its argument, called on memory or on a value."""
    place = scope.find(may_change)
    if place is None:
        return None
    shape = shape_of(scope.value(place)) or ()
    name = scope.fresh("g")
    lines = [f"def {name}(u):", f"    {augmented(scope, 'u', shape)}"]
    if shape:
        lines.append(f"    u[0] = u[-1] * {scope.scalar(0)}")
    return [*lines, "    return u", f"{scope.fresh('r')} = {name}({place})"]


@rule(0.7)
def branch(scope: Scope) -> Lines:
    """A branch on a value."""
    place = scope.find(is_scalar)
    if place is None or not scope.dynamic:
        return None
    found = scope.find(may_change)
    lines = [f"if {place} > {scope.number()}:", f"    {augmented(scope, place, ())}"]
    other = augmented(scope, str(found), shape_of(scope.value(str(found))) or ())
    return [*lines, "else:", f"    {other}"]


@rule(0.7)
def whole_numbers(scope: Scope) -> Lines:
    """An element of whole numbers that becomes a float, and whole numbers among floats."""
    k, i = scope.fresh("k"), scope.fresh("j")
    forms = (
        [f"{k} = np.arange(3)", f"{i} = {k}[1]", f"{i} += 0.5"],
        [f"{i} = np.arange(3)[2] * {scope.scalar(1)}"],
        [f"{i} = 0", f"{i} += {scope.scalar(1)}"],
        [f"{i} = 1", f"{i} *= {scope.scalar(1)}"],
        [f"{i} = np.arange(3) + {scope.scalar(1)}", f"{i}[0] = 1"],
    )
    return scope.rng.choice(forms)
