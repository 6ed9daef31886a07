"""`Optimizer`: parameter groups, state, hooks, and the step around a rule.

Invariant: a step runs without recording and changes parameters in place. It skips parameters
without a gradient, and a step that fails in its checks changes nothing. State is created once and
changed in place, so that a compiled step finds it in the same memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import wraps
from types import FunctionType
from typing import Any

from ferrograd._compile import guards
from ferrograd._core import Tensor, _restore_mode, _switch_grad
from ferrograd._tensor.attribute_names import REPLACEMENT_DTYPE
from ferrograd._tensor.modes import enable_grad
from ferrograd.errors import ArgumentError, ArgumentTypeError, ContractError
from ferrograd.optim._hooks import Hook, HookHandle, Hooks
from ferrograd.optim._state_dict import State, copy_tensors, load_value

Group = dict[str, Any]
#: Parameters with their gradients.
ParamsWithGrads = list[tuple[Tensor, Tensor]]

#: Names of options in other libraries.
_OPTION_SYNONYMS = {"rate": "lr", "learning_rate": "lr", "step_size": "lr", "epsilon": "eps"}


class _StepFlags:
    """Flags of an optimiser's steps, on which compiled steps do not depend."""

    __slots__ = ("_stepped", "_stepping")
    _stepped: bool
    _stepping: bool


class Optimizer(_StepFlags):
    """Base of the optimisers: subclass it with `defaults` and `_update(parameter, grad, …)`.

    A subclass may define `step` instead; it reads `param_groups` and keeps its state in
    `self.state[parameter]`, a dict that is empty at first. `params` are parameters, pairs of names
    and parameters as in `model.named_parameters()`, or dicts of `params` and options.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Adds the hooks to a `step` that the subclass defines."""
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("step")
        if isinstance(own, FunctionType):
            cls.step = _add_hooks(own)  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: Group) -> None:
        self.defaults = defaults
        self.param_groups: list[Group] = []
        self.state: dict[Tensor, State] = defaultdict(dict)
        self._hooks = Hooks()
        self._stepped = self._stepping = False
        if isinstance(params, Tensor):
            raise ArgumentTypeError(
                f"{type(self).__name__}: params is one tensor; pass a sequence of parameters"
            )
        given = _list_params(type(self).__name__, params)
        if not given:
            raise ArgumentError(f"{type(self).__name__}: there are no parameters; pass some")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group of parameters with its own options; missing options have the defaults.

        Other entries are kept; a name that looks like a misspelt option raises.
        """
        op = type(self).__name__
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise ArgumentTypeError(f"{op}: a group is a dict with 'params'; got {param_group!r}")
        given = param_group["params"]
        given = [given] if isinstance(given, Tensor) else _list_params(op, given)
        params, names = _split_names(op, given)
        known = {id(p) for own in self.param_groups for p in own["params"]}
        for i, p in enumerate(params):
            if not isinstance(p, Tensor) or not p.is_leaf:
                what = "a result with history" if isinstance(p, Tensor) else f"{type(p).__name__}"
                raise ArgumentTypeError(f"{op}: parameter {i} is {what}; pass leaf tensors")
            if id(p) in known:
                raise ArgumentError(f"{op}: parameter {i} is there twice; list each once")
            known.add(id(p))
        _check_spelling(op, param_group, self.defaults)
        full = {**self.defaults, **param_group, "params": params}
        if names is not None:
            full["param_names"] = names
        if any(("param_names" in group) != ("param_names" in full) for group in self.param_groups):
            raise ArgumentError(f"{op}: some groups have names; name the parameters of all or none")
        self._check_group(full)
        self.param_groups.append(full)

    def _check_group(self, group: Group) -> None:
        """Raises for invalid options."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets every parameter's gradient, or fills it with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                p.zero_grad(set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates every parameter that has a gradient; returns the result of `closure`.

        `closure`, if given, is called first, with recording on: it computes the loss and its
        gradients.
        """
        return self._run_with_hooks(
            Optimizer._step_without_grad, () if closure is None else (closure,), {}
        )

    def _run_with_hooks(
        self, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Runs the step `run` between the hooks; a nested step has no hooks."""
        if self._stepping:
            return run(self, *args, **kwargs)
        hooks = self._hooks
        if guards.active_traces:
            lists = (group["params"] for group in self.param_groups)
            guards.note(self.param_groups, *lists, self.state, hooks.step_pre, hooks.step_post)
            guards.note_owned(self, *self.param_groups, *self.state.values())
        for hook in tuple(hooks.step_pre.values()):
            changed = hook(self, args, kwargs)
            if changed is not None:
                args, kwargs = _check_hook_result(type(self).__name__, changed)
        self._stepping = True
        try:
            loss = run(self, *args, **kwargs)
        finally:
            self._stepping = False
        self._stepped = True
        for hook in tuple(hooks.step_post.values()):
            hook(self, args, kwargs)
        return loss

    def _step_without_grad(self, closure: Callable[[], Any] | None = None) -> Any:
        before = _switch_grad(False)
        try:
            return self._step_impl(closure)
        finally:
            _restore_mode(before)

    def _step_impl(self, closure: Callable[[], Any] | None = None) -> Any:
        """A step, with recording off."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            found = ((p, p.grad) for p in group["params"])
            ready = [(p, grad) for p, grad in found if grad is not None]
            if len(ready) < len(group["params"]):
                _check_replaced(type(self).__name__, group["params"])
            if ready:
                lost = self.defaults.keys() - group.keys()
                if lost:
                    raise ArgumentError(
                        f"{type(self).__name__}.step: a group has lost {sorted(lost)}; put these"
                        " options back"
                    )
                self._step_group(group, ready)
        return loss

    def _step_group(self, group: Group, ready: ParamsWithGrads) -> None:
        """Changes the parameters of a group that have gradients."""
        for p, grad in ready:
            state = self.state[p]
            p.data = self._update(p.detach(), grad.detach(), state, group)

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> Tensor:
        """The parameter's next value."""
        raise NotImplementedError

    def register_step_pre_hook(self, hook: Hook) -> HookHandle:
        """Calls `hook(optimizer, args, kwargs)` before each step; it may return other arguments."""
        return self._hooks.add("step_pre", hook)

    def register_step_post_hook(self, hook: Hook) -> HookHandle:
        """Calls `hook(optimizer, args, kwargs)` after each step."""
        return self._hooks.add("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> HookHandle:
        """Calls `hook(optimizer)` before `state_dict` reads."""
        return self._hooks.add("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> HookHandle:
        """Calls `hook(optimizer, state_dict)`, which may return another one."""
        return self._hooks.add("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> HookHandle:
        """Calls `hook(optimizer, state_dict)` before loading; it may return another one."""
        return self._hooks.add("load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> HookHandle:
        """Calls `hook(optimizer)` after loading."""
        return self._hooks.add("load_state_dict_post", hook, prepend)

    def state_dict(self) -> dict[str, Any]:
        """Copies of options and state; parameters are numbered in the order of the groups."""
        for hook in tuple(self._hooks.state_dict_pre.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers[id(p)] = len(numbers)
            own = copy_tensors({key: value for key, value in group.items() if key != "params"})
            groups.append({**own, "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(p)]: copy_tensors(entry) for p, entry in self.state.items()}
        made = {"state": state, "param_groups": groups}
        for hook in tuple(self._hooks.state_dict_post.values()):
            other = hook(self, made)
            made = made if other is None else other
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads copies of options and state; the groups must have the same sizes.

        An option that is a tensor, such as `lr`, stays the same tensor and gets the new value.
        State written by PyTorch for parameters of the same shapes can be loaded, too. State of your
        own subclass keeps its shapes and dtypes.
        """
        op = f"{type(self).__name__}.load_state_dict"
        for hook in tuple(self._hooks.load_state_dict_pre.values()):
            other = hook(self, state_dict)
            state_dict = state_dict if other is None else other
        groups = _check_state(op, state_dict)
        sizes = [len(group["params"]) for group in self.param_groups]
        given = [len(group["params"]) for group in groups]
        if sizes != given:
            raise ArgumentError(f"{op}: groups of {given} parameters do not fit groups of {sizes}")
        for group, new in zip(self.param_groups, groups, strict=True):
            self._check_group(
                {**group, **{key: value for key, value in new.items() if key != "params"}}
            )
        params = [p for group in self.param_groups for p in group["params"]]
        numbers = [number for group in groups for number in group["params"]]
        by_number = dict(zip(map(str, numbers), params, strict=True))
        loaded: dict[Tensor, State] = {}
        for number, entry in state_dict["state"].items():
            p = by_number.get(str(number))
            if p is None or not hasattr(entry, "items"):
                raise ArgumentError(
                    f"{op}: there is state of a parameter {number!r}, and parameters are"
                    f" {numbers}; give what state_dict() returned"
                )
            loaded[p] = {key: self._load_value(op, key, value, p) for key, value in entry.items()}
            self._check_loaded_state(op, number, loaded[p])
        for group in self.param_groups:
            self._share_loaded_state(group, loaded)
        for group, new in zip(self.param_groups, groups, strict=True):
            for key, value in new.items():
                if isinstance(group.get(key), Tensor):
                    group[key].data = value
                elif key != "params":
                    group[key] = copy_tensors(value)
        self.state = defaultdict(dict, loaded)
        for hook in tuple(self._hooks.load_state_dict_post.values()):
            hook(self)

    def _load_value(self, op: str, key: str, value: Any, p: Tensor) -> Any:
        """A loaded entry of the state of a parameter."""
        return load_value(value)

    def _check_loaded_state(self, op: str, number: Any, entry: State) -> None:
        """Raises for loaded state that steps could not use."""

    def _share_loaded_state(self, group: Group, loaded: dict[Tensor, State]) -> None:
        """Converts loaded state of a group to the form that steps expect."""

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            options = ", ".join(f"{k}={v}" for k, v in group.items() if k != "params")
            lines.append(f"  group {i}: {len(group['params'])} parameters, {options}")
        return "\n".join([*lines, ")"])


def _add_hooks(step: FunctionType) -> Callable[..., Any]:
    """Wraps the `step` of a subclass so that it runs the hooks of the optimiser."""

    @wraps(step)
    def step_with_hooks(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        return self._run_with_hooks(step, args, kwargs)

    return step_with_hooks


def _check_spelling(op: str, group: Group, options: Group) -> None:
    """Refuses an entry of a group whose name is a misspelling or a synonym of an option."""
    for name in group.keys() - {"params", "param_names", *options}:
        from difflib import get_close_matches

        near = get_close_matches(_OPTION_SYNONYMS.get(name, str(name)), options, 1, 0.85)
        if near:
            raise ArgumentError(f"{op}: a group has {name!r}, which is no option; use {near[0]!r}")


def _check_replaced(op: str, params: list[Tensor]) -> None:
    """Raises if a module has replaced a parameter, which would never get a gradient again."""
    for i, p in enumerate(params):
        dtype = getattr(p, REPLACEMENT_DTYPE, None)
        if dtype is not None and p.grad is None:
            raise ArgumentError(
                f"{op}.step: parameter {i}, {p.dtype} of shape {tuple(p.shape)}, was replaced when"
                f" Module.to({dtype}) converted its module; make the optimiser after that, and"
                " load the state of this one"
            )


def _check_state(op: str, state: Any) -> list[Group]:
    """The groups of a state dict; raises for any other object."""
    for key, kind in (("state", "items"), ("param_groups", "append")):
        if not hasattr(state, "items") or not hasattr(state.get(key), kind):
            what = f"{sorted(map(str, state))}" if hasattr(state, "items") else type(state).__name__
            raise ArgumentTypeError(
                f"{op}: the state has {what}; give what state_dict() returned, a dict with 'state'"
                " and 'param_groups'"
            )
    groups: list[Group] = list(state["param_groups"])
    if not all(hasattr(group, "items") and "params" in group for group in groups):
        raise ArgumentTypeError(f"{op}: a group lacks 'params'; give what state_dict() returned")
    return groups


def _list_params(op: str, params: Any) -> list[Any]:
    """The parameters in a list; a model is not unpacked, that is the caller's choice."""
    if isinstance(params, set | frozenset):
        raise ArgumentTypeError(f"{op}: params is a set, which has no order; pass a list")
    if isinstance(params, Iterable) and not hasattr(params, "parameters"):
        listed: list[Any] = []
        seen: set[int] = set()
        for entry in params:
            listed.append(entry)
            own = entry[-1] if isinstance(entry, tuple) and entry else entry
            if not isinstance(own, Tensor | dict) or id(own) in seen:
                break  # It will be refused, and the iterator may be endless.
            if isinstance(own, Tensor):
                seen.add(id(own))
        return listed
    advice = "pass a sequence of parameters, such as model.parameters()"
    raise ArgumentTypeError(f"{op}: params is of type {type(params).__name__}; {advice}")


def _split_names(op: str, given: list[Any]) -> tuple[list[Any], list[str] | None]:
    """Separates pairs of names and parameters; the names are None if there are none."""
    named = [entry for entry in given if isinstance(entry, tuple)]
    if not named:
        return given, None
    if len(named) != len(given):
        raise ArgumentError(f"{op}: some parameters have names; name all or none")
    return [p for _, p in named], [name for name, _ in named]


def _check_hook_result(op: str, changed: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Converts the result of a hook to the arguments of the step."""
    if isinstance(changed, tuple) and len(changed) == 2:
        return changed
    raise ContractError(
        f"{op}.step: a pre-hook returned {changed!r}; return None or a pair of (args, kwargs)"
    )
