"""Iteration over the members of a module, and access to a member by its dotted name.

Invariant: an iteration lists a shared parameter or module once, under its first name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self, cast

from ferrograd._core import Tensor, _below
from ferrograd.nn._compiled_members import join_names, unwrap_module
from ferrograd.nn._parameter import Parameter

if TYPE_CHECKING:
    from ferrograd.nn._module import Module


class ModuleTraversal:
    """The iterators that `Module` inherits."""

    _parameters: dict[str, Tensor]
    _buffers: dict[str, Tensor]
    _modules: dict[str, Module]

    def named_modules(
        self, prefix: str = "", *, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below, depth first, with dotted names.

        Each once, or with `remove_duplicate=False` under each of its names.
        """
        seen: set[int] = set()
        pending: list[tuple[str, Module]] = [(prefix, cast("Module", self))]
        while pending:
            name, module = pending.pop()
            if id(module) in seen:
                continue
            if remove_duplicate:
                seen.add(id(module))
            yield name, module
            children = reversed(module._modules.items())
            pending.extend((join_names(name, key), unwrap_module(child)) for key, child in children)

    def modules(self) -> Iterator[Module]:
        """This module and all below, depth first, each once."""
        if type(self).named_modules is not ModuleTraversal.named_modules:
            return (module for _, module in self.named_modules())
        return iter(_below(self))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules registered here, with their names; each once."""
        seen: set[int] = set()
        for name, child in self._modules.items():
            if id(unwrap_module(child)) not in seen:
                seen.add(id(unwrap_module(child)))
                yield name, unwrap_module(child)

    def children(self) -> Iterator[Module]:
        """The modules registered here, each once."""
        return (child for _, child in self.named_children())

    def _named_members(
        self, table: str, prefix: str, recurse: bool, once: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        # A subclass may override the listing of modules, with `prefix` as its only argument.
        words = {} if once else {"remove_duplicate": False}
        owners = self.named_modules(prefix, **words) if recurse else iter([(prefix, self)])
        for owner, module in owners:
            for name, tensor in module.__dict__[table].items():
                if id(tensor) not in seen:
                    if once:
                        seen.add(id(tensor))
                    yield join_names(owner, name), tensor

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with dotted names such as `mlp.fc1.weight`.

        A shared one once, or with `remove_duplicate=False` under each of its names.

        >>> import ferrograd as fg
        >>> layer = fg.nn.Linear(2, 2, bias=False)
        >>> pair = fg.nn.Sequential(layer, layer)
        >>> [name for name, _ in pair.named_parameters(remove_duplicate=False)]
        ['0.weight', '1.weight']
        """
        found: Any = self._named_members("_parameters", prefix, recurse, remove_duplicate)
        return iter(found)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, a shared one once."""
        kind = type(self)
        usual = kind.named_parameters is ModuleTraversal.named_parameters
        if usual and recurse and kind.named_modules is ModuleTraversal.named_modules:
            return iter(_below(self, "_parameters"))
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with dotted names; a shared one as `named_parameters` lists it."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def parameter_gradients(self, recurse: bool = True) -> list[tuple[Parameter, Tensor]]:
        """Pairs of parameters and gradients, for parameters with a gradient."""
        pairs = ((p, p.grad) for p in self.parameters(recurse))
        return [(p, grad) for p, grad in pairs if grad is not None]

    def apply(self, function: Callable[[Module], Any]) -> Self:
        """Calls a function with every module, children first."""
        for child in self.children():
            child.apply(function)
        function(cast("Module", self))
        return self

    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name; this one for an empty name.

        Errors: `AttributeError` for a name that no module has.

        >>> import ferrograd as fg
        >>> fg.nn.MLP(2, 3).get_submodule("fc1")
        Linear(in_features=2, out_features=3, bias=False)
        """
        found = cast("Module", self)
        for part in target.split(".") if target else ():
            if part not in found._modules:
                names = ", ".join(found._modules) or "none"
                raise AttributeError(
                    f"{type(found).__name__}: no module is called {part!r} (of {target!r}); there"
                    f" are {names}"
                )
            found = unwrap_module(found._modules[part])
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replaces or adds the module with a dotted name; with `strict` it must exist.

        Errors: `AttributeError` for an empty name and a name that does not exist.

        >>> import ferrograd as fg
        >>> net = fg.nn.Sequential(fg.nn.Linear(2, 2), fg.nn.ReLU())
        >>> net.set_submodule("1", fg.nn.Tanh())
        >>> net[1]
        Tanh()
        """
        owner, _, name = target.rpartition(".")
        if not name:
            raise AttributeError("set_submodule: the name is empty; give that of a member")
        if strict:
            self.get_submodule(target)
        self.get_submodule(owner).add_module(name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name. Errors: `AttributeError` for a name that none has."""
        return cast(Parameter, self._get_member("_parameters", "parameter", target))

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name. Errors: `AttributeError` for a name that none has."""
        return self._get_member("_buffers", "buffer", target)

    def _get_member(self, table: str, what: str, target: str) -> Tensor:
        owner, _, name = target.rpartition(".")
        own: dict[str, Tensor] = self.get_submodule(owner).__dict__[table]
        if name not in own:
            names = ", ".join(own) or "none"
            raise AttributeError(
                f"{type(self).__name__}: no {what} is called {target!r}; there are {names}"
            )
        return own[name]
