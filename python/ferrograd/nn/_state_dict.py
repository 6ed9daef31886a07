"""Saving and loading the state of modules.

Invariant: a load that fails changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ferrograd._core import Tensor, asarray
from ferrograd._tensor.attribute_names import REPLACEMENT_DTYPE
from ferrograd._tensor.device import device
from ferrograd.errors import ArgumentError, ArgumentTypeError, DTypeError, StateDictError
from ferrograd.nn._compiled_members import UninitializedParameters, unwrap_module
from ferrograd.nn._parameter import Parameter

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ferrograd.nn._module import Module


#: The layouts of linear weights in a state: [out, in], [in, out].
LAYOUTS = ("torch", "ferrograd")

#: The transposed entries of such a layer, or of the parametrization of its weight.
_TRANSPOSED_NAMES = ("weight", "original", "original0", "original1")


@dataclass(frozen=True)
class LoadReport:
    """The report of a load: missing keys and unexpected keys."""

    missing_keys: list[str] = field(default_factory=list)
    unexpected_keys: list[str] = field(default_factory=list)
    mismatches: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        rows = [
            *(f"  missing:    {key}" for key in self.missing_keys),
            *(f"  unexpected: {key}" for key in self.unexpected_keys),
            *(f"  mismatch:   {text}" for text in self.mismatches),
        ]
        return "\n".join(rows) if rows else "  all keys match"


def _collect_entries(module: Module, prefix: str) -> dict[str, tuple[Module, Tensor]]:
    """Every saved name with its owner and its tensor; names of shared members included."""
    found: dict[str, tuple[Module, Tensor]] = {}
    pending = [(prefix, module)]
    while pending:
        path, owner = pending.pop()
        start = f"{path}." if path else ""
        for name, tensor in owner._parameters.items():
            found[start + name] = owner, tensor
        for name, tensor in owner._buffers.items():
            if name not in owner._unsaved:
                found[start + name] = owner, tensor
        for name, child in reversed(owner._modules.items()):
            pending.append((start + name, unwrap_module(child)))
    return found


def state_dict(module: Module, prefix: str) -> dict[str, Tensor]:
    """The saved tensors by name, detached."""
    hooked = _find_hooked_modules(module, prefix, "state_dict_pre", "state_dict_post")
    for start, owner, hooks in hooked:
        for hook, _ in list(hooks.state_dict_pre.values()):
            hook(owner, start, False)
    found = {key: tensor.detach() for key, (_, tensor) in _collect_entries(module, prefix).items()}
    for start, owner, hooks in reversed(hooked):
        for hook, _ in list(hooks.state_dict_post.values()):
            hook(owner, found, start, {})
    return found


def _find_hooked_modules(
    module: Module, prefix: str, *tables: str
) -> list[tuple[str, Module, Any]]:
    """The modules with hooks of these kinds, each with its prefix, parents first."""
    found = []
    pending = [(prefix, module)]
    while pending:
        path, owner = pending.pop()
        start = f"{path}." if path else ""
        hooks = owner.__dict__.get("_hooks")
        if hooks is not None and any(getattr(hooks, table) for table in tables):
            found.append((start, owner, hooks))
        for name, child in reversed(owner._modules.items()):
            pending.append((start + name, unwrap_module(child)))
    return found


def load(module: Module, state: dict[str, Any], strict: bool, layout: str | None) -> LoadReport:
    """Checks everything, then copies."""
    if not hasattr(state, "items"):
        raise ArgumentTypeError(
            f"load_state_dict: the state is a {type(state).__name__}; pass a dict of tensors"
        )
    if layout not in (None, *LAYOUTS):
        raise ArgumentError(f'load_state_dict: layout={layout!r}; use None, "torch" or "ferrograd"')
    of_pytorch = getattr(state, "_metadata", None) is not None
    hooked = _find_hooked_modules(module, "", "load_state_dict_pre", "load_state_dict_post")
    missing: list[str] = []
    unexpected: list[str] = []
    mismatches: list[str] = []
    if hooked:
        state = dict(state)
        for start, owner, hooks in hooked:
            for hook, _ in list(hooks.load_state_dict_pre.values()):
                hook(owner, state, start, {}, strict, missing, unexpected, mismatches)
    entries = _collect_entries(module, "")
    if layout is None:
        if of_pytorch:
            layout = "torch"
        else:
            _check_layout(state, entries)
    missing += [key for key in entries if key not in state]
    unexpected += [key for key in state if key not in entries]
    values = _convert_state(state, entries, layout, mismatches)
    report = LoadReport(missing, unexpected, mismatches)
    told = [
        (owner, hook)
        for _, owner, hooks in hooked
        for hook, _ in hooks.load_state_dict_post.values()
    ]
    if mismatches or (strict and not told and (missing or unexpected)):
        raise _make_error(module, report)
    before = {key: entries[key][1].detach().numpy().copy() for key in values} if told else {}
    _assign_values(values, entries)
    try:
        for owner, hook in reversed(told):
            hook(owner, report)
        if strict and (missing or unexpected):
            raise _make_error(module, report)
    except BaseException:
        _assign_values(before, entries)
        raise
    return report


def _convert_state(
    state: Any, entries: dict[str, tuple[Module, Tensor]], layout: str | None, errors: list[str]
) -> dict[str, np.ndarray]:
    """The arrays of the state in ferrograd's layout; errors are added to `wrongs`."""
    values = {}
    for key, (owner, tensor) in entries.items():
        if key in state:
            is_transposed = layout == "torch" and _is_stored_transposed(key, owner)
            values[key] = _to_array(state[key], is_transposed)
            mismatches = _find_mismatches(key, values[key], tensor)
            if mismatches and layout is None and _has_transposed_shape(owner, values[key], tensor):
                mismatches[0] += '; it is transposed, as PyTorch keeps it: pass layout="torch"'
            errors += mismatches
    return values


def _assign_values(
    values: dict[str, np.ndarray], entries: dict[str, tuple[Module, Tensor]]
) -> None:
    for key, value in values.items():
        tensor = entries[key][1]
        tensor.data = asarray(value.astype(tensor.dtype, copy=False))


def _make_error(module: Module, report: LoadReport) -> StateDictError:
    return StateDictError(
        f"load_state_dict: the state does not fit {type(module).__name__}; nothing was"
        f" changed\n{report}"
    )


def _check_layout(state: Any, entries: dict[str, tuple[Module, Tensor]]) -> None:
    """Refuses PyTorch tensors for linear weights in a dict with an unknown layout.

    A dict without the `_metadata` of PyTorch's `state_dict()` may have either layout, and shapes do
    not show it for square weights.
    """
    for key, (owner, _) in entries.items():
        if key in state and _is_stored_transposed(key, owner) and _is_torch_tensor(state[key]):
            raise ArgumentError(
                f"load_state_dict: {key} is a torch.Tensor, and the weights of linear layers are"
                ' [out, in] in PyTorch and [in, out] here; pass layout="torch", or'
                ' layout="ferrograd" for weights that are [in, out]'
            )


def _is_torch_tensor(value: Any) -> bool:
    return any(kind.__module__.split(".")[0] == "torch" for kind in type(value).__mro__)


def _is_stored_transposed(key: str, owner: Module) -> bool:
    """Whether PyTorch keeps this entry the other way round."""
    return key.rpartition(".")[2] in _TRANSPOSED_NAMES and _is_linear(owner)


def _is_linear(owner: Module) -> bool:
    return bool(getattr(owner, "weight_is_in_out", False))


def _has_transposed_shape(owner: Module, value: np.ndarray, tensor: Tensor) -> bool:
    is_transposed = value.ndim == 2 and value.shape[::-1] == tuple(tensor.shape)
    return is_transposed and value.shape != tuple(tensor.shape) and _is_linear(owner)


def _to_array(value: Any, is_transposed: bool) -> np.ndarray:
    if isinstance(value, Tensor):
        value = value.detach().numpy()
    elif hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    array = np.asarray(value)
    return array.T if is_transposed and array.ndim == 2 else array


def _find_mismatches(key: str, value: np.ndarray, tensor: Tensor) -> list[str]:
    found = []
    if value.shape != tuple(tensor.shape):
        found.append(f"{key} has shape {value.shape}, the module's has {tuple(tensor.shape)}")
    if not np.can_cast(value.dtype, tensor.dtype, "same_kind"):
        found.append(f"{key} has dtype {value.dtype}, the module's has {tensor.dtype}")
    return found


def parse_to_arguments(given: tuple[Any, ...], dtype: Any, where: Any) -> Any:
    """The dtype among the arguments of `to`, if any; devices must be the CPU."""
    if where is not None:
        device(where)
    for value in given:
        if isinstance(value, device) or (isinstance(value, str) and _is_not_dtype_name(value)):
            device(value)
        elif isinstance(value, Tensor):
            dtype = value.dtype
        elif not isinstance(value, bool) and value is not None:
            dtype = value
    return dtype


def _is_not_dtype_name(text: str) -> bool:
    try:
        np.dtype(text)
    except TypeError:
        return True
    return False


def convert_dtype(module: Module, dtype: DTypeLike) -> None:
    """Replaces the parameters and float buffers of all modules by ones of a dtype."""
    target = np.dtype(dtype)
    if target.kind != "f":
        raise DTypeError(f"to: dtype {target} is not supported; use a float dtype")
    converted: dict[int, tuple[Tensor, Tensor]] = {}

    def convert_tensor(tensor: Tensor) -> Tensor:
        if tensor.dtype == target or tensor.dtype.kind != "f":
            return tensor
        if id(tensor) not in converted:
            fresh = type(tensor)(tensor.detach(), dtype=target, name=tensor.name)
            fresh.requires_grad_(tensor.requires_grad)
            if isinstance(tensor, Parameter):
                vars(fresh).update(vars(tensor))
                vars(fresh).pop(REPLACEMENT_DTYPE, None)
                vars(tensor)[REPLACEMENT_DTYPE] = str(target)
            converted[id(tensor)] = tensor, fresh
        return converted[id(tensor)][1]

    for owner in module.modules():
        if isinstance(owner._parameters, UninitializedParameters):
            owner._options["dtype"] = target
            continue
        for table in (owner._parameters, owner._buffers):
            for name, tensor in table.items():
                table[name] = convert_tensor(tensor)
