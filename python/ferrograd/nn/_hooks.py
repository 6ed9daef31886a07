"""Hooks of modules: around forward, backward, and the dicts of their state.

Invariant: hooks run in the order of registration; a module without hooks calls `forward` directly.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, ParamSpec, Protocol, Self, TypeVar

from ferrograd.errors import ArgumentTypeError, ContractError
from ferrograd.nn import _backward_hooks

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class HasForward(Protocol[P, R_co]):
    """An object with a forward: a call has the same arguments and results."""

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """The forward."""


Hook = Callable[..., Any]
_hook_ids = count()


class Hooks:
    """The hooks of one module by number, each with a flag for keyword arguments."""

    def __init__(self) -> None:
        self.forward_pre: dict[int, tuple[Hook, bool]] = {}
        self.forward: dict[int, tuple[Hook, bool]] = {}
        #: Before and after the backward pass of the module.
        self.backward_pre: dict[int, tuple[Hook, bool]] = {}
        self.backward: dict[int, tuple[Hook, bool]] = {}
        #: Around `state_dict` and `load_state_dict`.
        self.state_dict_pre: dict[int, tuple[Hook, bool]] = {}
        self.state_dict_post: dict[int, tuple[Hook, bool]] = {}
        self.load_state_dict_pre: dict[int, tuple[Hook, bool]] = {}
        self.load_state_dict_post: dict[int, tuple[Hook, bool]] = {}
        #: Hooks that also run when the forward raises.
        self.always_called: set[int] = set()

    def __bool__(self) -> bool:
        """Whether a call has to run hooks."""
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward)

    def call_hook_tables(self) -> tuple[dict[int, tuple[Hook, bool]], ...]:
        """The tables on which a traced call depends."""
        return self.forward_pre, self.forward, self.backward_pre, self.backward


class RemovableHandle:
    """Removes a hook; as a context manager, at the end of the block."""

    def __init__(self, hooks: Hooks, table: dict[int, Any], number: int) -> None:
        self._hooks, self._table, self.number = hooks, table, number

    def remove(self) -> None:
        """Removes the hook; a second time does nothing."""
        self._table.pop(self.number, None)
        self._hooks.always_called.discard(self.number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register_hook(
    hooks: Hooks,
    table: dict[int, tuple[Hook, bool]],
    hook: Hook,
    prepend: bool = False,
    with_kwargs: bool = False,
) -> RemovableHandle:
    """Enters a hook last, or first."""
    if not callable(hook):
        raise ArgumentTypeError(
            f"register a hook: the hook is a {type(hook).__name__}; pass a function"
        )
    number = next(_hook_ids)
    others = dict(table) if prepend else {}
    if prepend:
        table.clear()
    table[number] = hook, with_kwargs
    table.update(others)
    return RemovableHandle(hooks, table, number)


def call_with_hooks(
    module: Any, hooks: Hooks, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Runs the hooks and forward; hooks may replace arguments or the result."""
    called: set[int] = set()
    out = None
    try:
        for hook, keywords in list(hooks.forward_pre.values()):
            args, kwargs = _call_pre_hook(module, hook, keywords, args, kwargs)
        backward_hook = _backward_hooks.BackwardHook.create_if_needed(module, hooks)
        if backward_hook is not None:
            args = backward_hook.setup_input_hook(args)
        out = module.forward(*args, **kwargs)
        for number, (hook, keywords) in list(hooks.forward.items()):
            called.add(number)
            out = _call_hook(module, hook, keywords, args, kwargs, out)
        if backward_hook is not None:
            out = backward_hook.setup_output_hook(out)
    except Exception:
        for number, (hook, keywords) in list(hooks.forward.items()):
            if number in hooks.always_called and number not in called:
                _call_hook(module, hook, keywords, args, kwargs, out)
        raise
    return out


def _call_pre_hook(
    module: Any, hook: Hook, keywords: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    found = hook(module, args, kwargs) if keywords else hook(module, args)
    if found is None:
        return args, kwargs
    if not keywords:
        return (found if isinstance(found, tuple) else (found,)), kwargs
    if not isinstance(found, tuple) or len(found) != 2:
        raise ContractError(
            f"{type(module).__name__}: a forward pre-hook with keywords returned a"
            f" {type(found).__name__}; return None or (args, kwargs)"
        )
    return found


def _call_hook(
    module: Any,
    hook: Hook,
    keywords: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    out: Any,
) -> Any:
    found = hook(module, args, kwargs, out) if keywords else hook(module, args, out)
    return out if found is None else found


class HookMethods:
    """The methods of a module that register hooks."""

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, args)` before each forward; its result replaces the arguments.

        A result that is not a tuple is the single argument; None changes nothing. With
        `with_kwargs`, the call is `hook(module, args, kwargs)` and the result is `(args, kwargs)`
        or None.
        """
        hooks = self._get_hooks()
        return register_hook(hooks, hooks.forward_pre, hook, prepend, with_kwargs)

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Calls `hook(module, args, output)` after each forward; its answer replaces the output.

        None changes nothing. With `with_kwargs`, the call is `hook(module, args, kwargs, output)`;
        with `always_call`, the hook also runs when the forward or another hook raises.

        >>> import ferrograd as fg
        >>> layer = fg.nn.ReLU()
        >>> with layer.register_forward_hook(lambda module, args, output: 2 * output):
        ...     layer(fg.tensor([1.0, -1.0])).tolist()
        [2.0, 0.0]
        """
        hooks = self._get_hooks()
        handle = register_hook(hooks, hooks.forward, hook, prepend, with_kwargs)
        if always_call:
            hooks.always_called.add(handle.number)
        return handle

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_output)` when the gradients of the results are complete.

        `grad_output` is a tuple with an entry, or None, for each tensor among the results. A
        returned tensor or tuple replaces it. A hook in a compiled function, like all Python code,
        runs during the trace only.
        """
        hooks = self._get_hooks()
        return register_hook(hooks, hooks.backward_pre, hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_input, grad_output)` after the module's backward pass.

        `grad_input` is a tuple with an entry for each positional argument of forward: its gradient,
        or None. A returned value replaces it. If no argument requires grad, the hook is called when
        the gradients of the results are complete.

        >>> import ferrograd as fg
        >>> layer = fg.nn.Tanh()
        >>> with layer.register_full_backward_hook(lambda m, g_in, g_out: (10 * g_in[0],)):
        ...     x = fg.zeros(2, requires_grad=True)
        ...     layer(x).sum().backward()
        >>> x.grad.tolist()
        [10.0, 10.0]
        """
        hooks = self._get_hooks()
        return register_hook(hooks, hooks.backward, hook, prepend)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Calls `hook(module, prefix, keep_vars)` before the module's entries are taken.

        `keep_vars` is False: the tensors of a state are outside the graph.
        """
        hooks = self._get_hooks()
        return register_hook(hooks, hooks.state_dict_pre, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata)`, which may change the dict.

        It is called after the entries of the module and its children were added.
        """
        hooks = self._get_hooks()
        return register_hook(hooks, hooks.state_dict_post, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Calls `hook` before a state is looked at; it may change the dict, which is a copy.

        The call is `hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`, as in PyTorch; texts added to the last are mismatches.

        >>> import ferrograd as fg
        >>> layer = fg.nn.Linear(2, 1, bias=False)
        >>> def renamed(module, state, prefix, *others):
        ...     state[prefix + "weight"] = state.pop(prefix + "kernel")
        >>> with layer.register_load_state_dict_pre_hook(renamed):
        ...     report = layer.load_state_dict({"kernel": fg.ones(2, 1)})
        >>> layer.weight.tolist()
        [[1.0], [1.0]]
        """
        hooks = self._get_hooks()
        return register_hook(hooks, hooks.load_state_dict_pre, hook)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Calls `hook(module, report)` when a state has been loaded, once for each module.

        The report has `missing_keys` and `unexpected_keys`; keys that the hook removes are not an
        error. If keys remain, all values are restored.
        """
        hooks = self._get_hooks()
        return register_hook(hooks, hooks.load_state_dict_post, hook)

    def _get_hooks(self) -> Hooks:
        self._check_initialized()
        if "_hooks" not in self.__dict__:
            object.__setattr__(self, "_hooks", Hooks())
        found: Hooks = self.__dict__["_hooks"]
        return found

    def _check_initialized(self) -> None:
        raise NotImplementedError
