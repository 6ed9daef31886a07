"""Containers of modules or parameters.

Invariant: members are registered in order, which iterations and `state_dict` keep. The names in a
list are the positions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Self

from ferrograd._compile import guards
from ferrograd._core import Tensor
from ferrograd.errors import ArgumentTypeError, IndexOutOfRangeError
from ferrograd.nn._module import Module
from ferrograd.nn._parameter import Parameter

#: No network is deeper; a number that is a mistake would make layers for hours.
MOST_LAYERS = 10_000


class _Container(Module):
    """Members in one table."""

    _table = "_modules"

    def _get_members(self) -> dict[str, Any]:
        """The table; a function that is being traced depends on its members."""
        table: dict[str, Any] = self.__dict__[self._table]
        if guards.active_traces:
            guards.note(table)
        return table


class _ListContainer(_Container):
    """Members under the names "0", "1", …, kept in one table."""

    def _list_members(self) -> list[Any]:
        return list(self._get_members().values())

    def _add_member(self, key: str, member: Any) -> None:
        self.register_module(key, member)

    def _set_members(self, members: Iterable[Any]) -> None:
        """Makes these the members, under new names."""
        kept = list(members)
        self._get_members().clear()
        for position, member in enumerate(kept):
            self._add_member(str(position), member)

    def _normalize_index(self, index: int) -> int:
        size = len(self)
        if not -size <= index < size:
            raise IndexOutOfRangeError(
                f"{type(self).__name__}: index {index} of {size} members; give one from {-size} to"
                f" {size - 1}"
            )
        return index % size

    def append(self, module: Any) -> Self:
        """Adds a member at the end."""
        self._add_member(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Any]) -> Self:
        """Adds members at the end."""
        for module in modules:
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Any]) -> Self:
        return self.extend(modules)

    def __len__(self) -> int:
        return len(self._get_members())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._get_members().values())

    def __getitem__(self, index: Any) -> Any:
        """The member at a position, or a new list of those of a slice."""
        if isinstance(index, slice):
            made = type(self)()
            made._set_members(self._list_members()[index])
            return made
        return self._list_members()[self._normalize_index(index)]

    def __setitem__(self, index: int, module: Any) -> None:
        """Replaces the member at a position."""
        self._add_member(list(self._get_members())[self._normalize_index(index)], module)

    def __delitem__(self, index: int | slice) -> None:
        """Removes members; later members move up."""
        members = self._list_members()
        del members[index]
        self._set_members(members)


class _ModuleSequence(_ListContainer):
    """A list with `insert`."""

    def insert(self, index: int, module: Module) -> Self:
        """Inserts a module before a position."""
        members = self._list_members()
        members.insert(index, module)
        self._set_members(members)
        return self

    def pop(self, index: int = -1) -> Any:
        """Removes the module at a position and returns it."""
        found = self[index]
        del self[self._normalize_index(index)]
        return found


class Sequential(_ModuleSequence):
    """Modules called in order; passed one by one or as a dict with names.

    >>> import ferrograd as fg
    >>> net = fg.nn.Sequential(fg.nn.Linear(3, 5), fg.nn.ReLU(), fg.nn.Linear(5, 1))
    >>> net(fg.ones(2, 3)).shape, len(net), len(net[:2])
    ((2, 1), 3, 2)
    """

    def __init__(self, *modules: Module | Mapping[str, Module], name: str | None = None) -> None:
        super().__init__(name)
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            named: Iterable[tuple[str, Any]] = modules[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(modules))
        for key, module in named:
            self.register_module(key, module)

    def forward(self, input: Any) -> Any:
        """The last module's result."""
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: Any) -> Any:
        """The module at a position, or those of a slice under their names."""
        if isinstance(index, slice):
            return Sequential(dict(list(self._modules.items())[index]))
        return super().__getitem__(index)


class ModuleList(_ModuleSequence):
    """A list of modules that registers them; it is not called itself.

    >>> import ferrograd as fg
    >>> layers = fg.nn.ModuleList([fg.nn.Linear(1, 1)]).append(fg.nn.ReLU())
    >>> len(layers), [name for name, _ in layers.named_parameters()]
    (2, ['0.weight', '0.bias'])
    """

    def __init__(self, modules: Iterable[Module] | None = None, name: str | None = None) -> None:
        super().__init__(name)
        self.extend(modules or ())

    def __repr__(self) -> str:
        """The modules by number, neighbours that print alike in one line, as PyTorch shows them."""
        lines: list[str] = []
        rows = [repr(module).replace("\n", "\n  ") for module in self]
        for text, group in groupby(range(len(rows)), lambda k: rows[k]):
            first, *rest = group
            place = f"{first}-{rest[-1]}): {len(rest) + 1} x " if rest else f"{first}): "
            lines.append(f"\n  ({place}{text}")
        return f"{type(self).__name__}({''.join([*lines, chr(10)] if lines else [])})"


class ParameterList(_ListContainer):
    """A list of parameters that registers them; tensors and arrays become parameters.

    >>> import ferrograd as fg
    >>> weights = fg.nn.ParameterList([fg.ones(2), fg.zeros(3)])
    >>> len(weights), [p.shape for p in weights.parameters()]
    (2, [(2,), (3,)])
    """

    _table = "_parameters"

    def __init__(self, values: Iterable[Any] | None = None, name: str | None = None) -> None:
        super().__init__(name)
        self.extend(values or ())

    def _add_member(self, key: str, member: Any) -> None:
        self.register_parameter(key, _convert_to_parameter(self, member))


def _convert_to_parameter(owner: Module, value: Any) -> Parameter:
    if isinstance(value, Module):
        raise ArgumentTypeError(
            f"{type(owner).__name__}: a {type(value).__name__} is no parameter; use nn.ModuleList"
        )
    if isinstance(value, Parameter):
        return value
    return Parameter(value.detach() if isinstance(value, Tensor) else value)


class _DictContainer(_Container):
    """Members by names, kept in one table."""

    def _add_member(self, key: str, member: Any) -> None:
        self.register_module(key, member)

    def __setitem__(self, key: str, member: Any) -> None:
        self._add_member(key, member)

    def __getitem__(self, key: str) -> Any:
        """The member of a name."""
        return self._get_members()[key]

    def __delitem__(self, key: str) -> None:
        del self._get_members()[key]

    def __len__(self) -> int:
        return len(self._get_members())

    def __iter__(self) -> Iterator[str]:
        return iter(self._get_members())

    def __contains__(self, key: object) -> bool:
        return key in self._get_members()

    def keys(self) -> Iterator[str]:
        """The names."""
        return iter(self)

    def values(self) -> Iterator[Any]:
        """The members."""
        return iter(self._get_members().values())

    def items(self) -> Iterator[tuple[str, Any]]:
        """Names and members."""
        return iter(self._get_members().items())

    def update(self, members: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Adds or replaces members."""
        pairs = members.items() if hasattr(members, "items") else members
        for key, member in pairs:
            self[key] = member

    def pop(self, key: str) -> Any:
        """Removes a member and returns it."""
        return self._get_members().pop(key)

    def clear(self) -> None:
        """Removes all members."""
        self._get_members().clear()


class ModuleDict(_DictContainer):
    """A dict of modules that registers them; it is not called itself.

    >>> import ferrograd as fg
    >>> table = fg.nn.ModuleDict({"act": fg.nn.ReLU()})
    >>> table["fc"] = fg.nn.Linear(2, 1)
    >>> list(table)
    ['act', 'fc']
    """

    def __init__(
        self, modules: Mapping[str, Module] | None = None, name: str | None = None
    ) -> None:
        super().__init__(name)
        self.update(modules or {})


class ParameterDict(_DictContainer):
    """A dict of parameters that registers them; tensors and arrays become parameters.

    Mappings other than an `OrderedDict` are sorted by name, as in PyTorch.

    >>> import ferrograd as fg
    >>> weights = fg.nn.ParameterDict({"a": fg.ones(2)})
    >>> weights["b"] = fg.zeros(3)
    >>> [name for name, _ in weights.named_parameters()]
    ['a', 'b']
    """

    _table = "_parameters"

    def __init__(
        self, parameters: Mapping[str, Any] | None = None, name: str | None = None
    ) -> None:
        super().__init__(name)
        self.update(parameters or {})

    def update(self, members: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Adds or replaces members; unordered mappings are sorted by name."""
        if isinstance(members, Mapping) and not isinstance(members, (OrderedDict, ParameterDict)):
            members = sorted(members.items())
        super().update(members)

    def _add_member(self, key: str, member: Any) -> None:
        self.register_parameter(key, _convert_to_parameter(self, member))
