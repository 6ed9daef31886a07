"""Parameters that are computed from others whenever they are read.

`parametrizations.py` has the computations. Invariant: a parametrized module has its own class with
a property that computes the tensor. The originals are parameters under `parametrizations.<name>`,
with PyTorch's names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd._core import Tensor, _is_recording_program, is_grad_enabled
from ferrograd._tensor.modes import no_grad
from ferrograd.errors import ArgumentError, ShapeError
from ferrograd.nn._module import Module
from ferrograd.nn._parameter import Parameter
from ferrograd.nn.layers.container import ModuleDict, ModuleList


class ParametrizationList(ModuleList):
    """The functions of one tensor, in order, and the originals that are passed to the first.

    The original is `original`, or `original0`, `original1`, … if `right_inverse` returns several.
    """

    def __init__(self, function: Module, tensor: Tensor, is_in_out: bool) -> None:
        super().__init__([function])
        #: Whether PyTorch keeps the originals transposed, as it does the weight of `Linear`.
        self.weight_is_in_out = is_in_out
        with no_grad():
            inverse = getattr(function, "right_inverse", None)
            given = tensor.detach() if inverse is None else inverse(tensor.detach())
        self.count = len(given) if isinstance(given, list | tuple) else 0
        parts = list(given) if self.count else [given]
        names = [f"original{k}" for k in range(self.count)] or ["original"]
        self._originals = names
        for name, part in zip(names, parts, strict=True):
            self.register_parameter(name, Parameter(part, requires_grad=tensor.requires_grad))

    def forward(self) -> Tensor:
        """The tensor; inside `cached` the one that was computed first."""
        held = _cache
        if held is None or _is_recording_program():
            return self._compute_tensor()
        # The list is kept with its tensor, so its id stays unique.
        key = id(self), is_grad_enabled()
        if key not in held:
            held[key] = self, self._compute_tensor()
        return held[key][1]

    def _compute_tensor(self) -> Tensor:
        given = [getattr(self, name) for name in self._originals]
        first, *others = self._modules.values()
        out: Tensor = first(*given)
        for function in others:
            out = function(out)
        return out


#: The computed tensors inside `cached`, and None outside.
_cache: dict[tuple[int, bool], tuple[ParametrizationList, Tensor]] | None = None


class _CachedContext:
    """The context manager of `cached`; scopes nest, and the outermost one clears the cache."""

    def __enter__(self) -> None:
        global _cache
        self.before = _cache
        _cache = {} if _cache is None else _cache

    def __exit__(self, *error: object) -> None:
        global _cache
        _cache = self.before


def cached() -> Any:
    """A scope in which each parametrized tensor is computed only once.

    Changes of originals inside the scope take effect after it. It holds for all threads.

    >>> import ferrograd as fg
    >>> layer = fg.nn.utils.weight_norm(fg.nn.Linear(2, 1))
    >>> with fg.nn.utils.parametrize.cached():
    ...     print(layer.weight is layer.weight)
    True
    """
    return _CachedContext()


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Makes a parameter the result of `parametrization(original)`; returns the module.

    Its optional `right_inverse(tensor)` returns one or several originals for the current value. A
    second parametrization is applied to the result of the first. Make optimisers afterwards.
    Errors: `ArgumentError` for a name that is not a parameter, `ShapeError` for a result of another
    shape unless `unsafe`.

    >>> import ferrograd as fg
    >>> class Positive(fg.nn.Module):
    ...     def forward(self, x):
    ...         return fg.exp(x)
    >>> layer = fg.nn.Linear(2, 1, bias=False)
    >>> _ = fg.nn.utils.parametrize.register_parametrization(layer, "weight", Positive())
    >>> bool((layer.weight > 0).all()), [name for name, _ in layer.named_parameters()]
    (True, ['parametrizations.weight.original'])
    """
    if is_parametrized(module, tensor_name):
        held: ParametrizationList = module.parametrizations[tensor_name]
        before = held()
        held.append(parametrization)
        if not unsafe and tuple(held().shape) != tuple(before.shape):
            del held[len(held) - 1]
            raise _make_shape_error(before, tensor_name)
        return module
    tensor = module._parameters.get(tensor_name)
    if tensor is None:
        raise ArgumentError(
            f"register_parametrization: {tensor_name!r} is no parameter of"
            f" {type(module).__name__}; give one of {', '.join(module._parameters) or 'none'}"
        )
    turned = tensor_name == "weight" and bool(getattr(module, "weight_is_in_out", False))
    held = ParametrizationList(parametrization, tensor, turned)
    with no_grad():
        fits = unsafe or tuple(held().shape) == tuple(tensor.shape)
    if not fits:
        raise _make_shape_error(tensor, tensor_name)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
        object.__setattr__(module, "__class__", _make_parametrized_class(type(module), ()))
    del module._parameters[tensor_name]
    module.parametrizations[tensor_name] = held
    setattr(type(module), tensor_name, property(_make_getter(tensor_name)))
    return module


def _make_parametrized_class(plain: type, names: Iterable[str]) -> type:
    """A class of one module, which computes these tensors."""
    made = type(f"Parametrized{plain.__name__}", (plain,), {"__reduce_ex__": _reduce_module})
    for name in names:
        setattr(made, name, property(_make_getter(name)))
    return made


def _reduce_module(module: Module, protocol: Any) -> Any:
    """For copies and pickles: the class of the module has no name and is made again."""
    plain, names = type(module).__mro__[1], tuple(module.parametrizations._modules)
    return _rebuild_module, (plain, names), dict(module.__dict__)


def _rebuild_module(plain: type, names: tuple[str, ...]) -> Any:
    return object.__new__(_make_parametrized_class(plain, names))


def _make_shape_error(tensor: Tensor, name: str) -> ShapeError:
    return ShapeError(
        f"register_parametrization: the result for {name!r} has another shape than"
        f" {tuple(tensor.shape)}; keep it, or pass unsafe=True"
    )


def _make_getter(name: str) -> Any:
    def get_tensor(module: Module) -> Tensor:
        out: Tensor = module.parametrizations[name]()
        return out

    return get_tensor


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has computed parameters, or this one.

    >>> import ferrograd as fg
    >>> fg.nn.utils.parametrize.is_parametrized(fg.nn.Linear(2, 1))
    False
    """
    held = module._modules.get("parametrizations")
    if not isinstance(held, ModuleDict):
        return False
    return tensor_name is None or tensor_name in held


def type_before_parametrizations(module: Module) -> type[Module]:
    """The class of a module before it was parametrized.

    >>> import ferrograd as fg
    >>> layer = fg.nn.utils.weight_norm(fg.nn.Linear(2, 1))
    >>> fg.nn.utils.parametrize.type_before_parametrizations(layer) is fg.nn.Linear
    True
    """
    kind = type(module)
    return kind.__mro__[1] if is_parametrized(module) else kind


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Makes an ordinary parameter again, with the current value or the original.

    >>> import ferrograd as fg
    >>> layer = fg.nn.utils.weight_norm(fg.nn.Linear(2, 1))
    >>> _ = fg.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ArgumentError(
            f"remove_parametrizations: {tensor_name!r} of {type(module).__name__} is not"
            " parametrized; give the name of a parameter that is"
        )
    held: ParametrizationList = module.parametrizations[tensor_name]
    if not leave_parametrized and held.count:
        raise ArgumentError(
            f"remove_parametrizations: {tensor_name!r} has {held.count} originals; pass"
            " leave_parametrized=True"
        )
    with no_grad():
        value = held() if leave_parametrized else held.original
    learns = any(p.requires_grad for p in held.parameters())
    del module.parametrizations[tensor_name]
    delattr(type(module), tensor_name)
    if not len(module.parametrizations):
        del module.parametrizations
        object.__setattr__(module, "__class__", type(module).__mro__[1])
    parameter = Parameter(value.detach(), requires_grad=learns)
    parameter.fan_layout = "in_out" if held.weight_is_in_out else None
    module.register_parameter(tensor_name, parameter)
    return module
