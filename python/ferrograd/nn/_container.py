"""Modules that hold modules.

Owns: `Sequential`, `ModuleList`, `ModuleDict`. Never computes.
Invariant: members are registered in order, so walks and `state_dict` follow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from ferrograd.nn._module import Module


class Sequential(Module):
    """Modules called one after another; given one by one or as a dict of names.

    >>> import ferrograd as fg
    >>> net = fg.nn.Sequential(fg.nn.Linear(3, 5), fg.nn.ReLU(), fg.nn.Linear(5, 1))
    >>> net(fg.ones(2, 3)).shape, len(net)
    ((2, 1), 3)
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

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.register_module(str(len(self)), module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, index: int) -> Module:
        """The module at a position."""
        return list(self._modules.values())[index]


class ModuleList(Module):
    """A list of modules that registers them; it is not called itself."""

    def __init__(self, modules: Iterable[Module] = (), name: str | None = None) -> None:
        super().__init__(name)
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.register_module(str(len(self)), module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, index: int) -> Module:
        """The module at a position."""
        return list(self._modules.values())[index]


class ModuleDict(Module):
    """A dict of modules that registers them; it is not called itself."""

    def __init__(
        self, modules: Mapping[str, Module] | None = None, name: str | None = None
    ) -> None:
        super().__init__(name)
        for key, module in (modules or {}).items():
            self[key] = module

    def __setitem__(self, key: str, module: Module) -> None:
        self.register_module(key, module)

    def __getitem__(self, key: str) -> Module:
        """The module of a name."""
        return self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def items(self) -> Iterator[tuple[str, Module]]:
        """Names and modules."""
        return iter(self._modules.items())
