"""`Module`: a callable that owns parameters, buffers and other modules.

Walks over members: `_traversal.py`. Invariant: a name is a parameter, a buffer, a module or a plain
attribute, never two of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

from ferrograd._compile import guards
from ferrograd._core import Tensor, _shorten_module
from ferrograd.errors import ArgumentError, ArgumentTypeError
from ferrograd.nn import _functor_module, _hooks, _state_dict
from ferrograd.nn._compiled_members import unwrap_module
from ferrograd.nn._hooks import HasForward, HookMethods, P, R
from ferrograd.nn._parameter import Buffer, Parameter, describe_object
from ferrograd.nn._summary import Summary, summarise
from ferrograd.nn._traversal import ModuleTraversal

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

_TABLES = guards.MEMBER_TABLES


class Module(HookMethods, ModuleTraversal):
    """Base of every layer: subclass it, assign parameters and modules, define `forward`.

    Assigning a `Parameter` or a `Module` to an attribute registers it under that name. Calling the
    module calls `forward`; `build_forward` is the same call.

    >>> import ferrograd as fg
    >>> class Scale(fg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = fg.nn.Parameter([2.0])
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> Scale()(fg.tensor([3.0])).tolist(), [name for name, _ in Scale().named_parameters()]
    ([6.0], ['factor'])
    """

    training: bool
    name: str | None
    _unsaved: set[str]

    def __init__(self, name: str | None = None) -> None:
        for table in _TABLES:
            object.__setattr__(self, table, {})
        object.__setattr__(self, "_unsaved", set())
        object.__setattr__(self, "training", True)
        object.__setattr__(self, "name", name)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Adds the core's fast paths for members and `forward` to the class."""
        super().__init_subclass__(**kwargs)
        _shorten_module(cls, Module.__getattr__, Module.__call__)

    # --- the call --------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the module's result; every subclass that is called defines it."""
        raise NotImplementedError(
            f"{type(self).__name__}: the module has no forward; define forward(self, …)"
        )

    def __call__(self: HasForward[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls `forward`, and the hooks before and after it."""
        hooks = self.__dict__.get("_hooks")
        if guards.active_traces:
            guards.note_module(self)
        if hooks:
            return cast(R, _hooks.call_with_hooks(self, hooks, args, kwargs))
        return self.forward(*args, **kwargs)

    def build_forward(self, *args: Any, **kwargs: Any) -> Any:
        """Document 001's name of the call."""
        return self(*args, **kwargs)

    def compile(self, **options: Any) -> None:
        """Compiles `forward` in place. Hooks run as before.

        `options` are those of `fg.compile`. Another call deletes the programs.

        >>> import ferrograd as fg
        >>> model = fg.nn.Linear(2, 1)
        >>> model.compile()
        >>> model(fg.ones(3, 2)).shape, len(model.forward.programs)
        ((3, 1), 1)
        """
        from ferrograd._compile import api

        own = self.__dict__.get("forward")
        if getattr(getattr(own, "__wrapped__", None), "__self__", None) is self:
            # The one that this method has put there.
            del self.__dict__["forward"]
        self.__dict__["forward"] = api.compile(self.forward, **options)

    wrap_forward = _functor_module.wrap_forward

    # --- registration ----------------------------------------------------------------------

    def register_parameter(self, name: str, parameter: Tensor | None) -> None:
        """Registers a parameter, or a leaf that requires grad, under a name.

        None registers nothing: the attribute is None. Errors: `ArgumentTypeError` for any other
        object, `ArgumentError` for a name that is empty, has a dot or is taken.
        """
        if parameter is None:
            self._check_name("_parameters", name)
            setattr(self, name, None)
            return
        leaf = isinstance(parameter, Tensor) and parameter.is_leaf
        if not leaf or not (isinstance(parameter, Parameter) or parameter.requires_grad):
            raise ArgumentTypeError(
                f"{type(self).__name__}.register_parameter: {name!r} is"
                f" {describe_object(parameter)}; register a Parameter, or a leaf that requires grad"
            )
        self._register_member("_parameters", name, parameter)

    def register_buffer(self, name: str, tensor: Tensor, persistent: bool = True) -> None:
        """Registers a tensor that is not a parameter: it never requires grad.

        A leaf that requires grad stops doing so; a result with history is refused. With
        `persistent=False` it is left out of `state_dict`.
        """
        if not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"{type(self).__name__}.register_buffer: {name!r} is {describe_object(tensor)};"
                " register a tensor"
                + (f", or assign self.{name} = None until there is one" if tensor is None else "")
            )
        if not tensor.is_leaf:
            raise ArgumentError(
                f"{type(self).__name__}.register_buffer: {name!r} has a history; register its"
                " detach()"
            )
        self._register_member("_buffers", name, tensor)
        tensor.requires_grad = False
        tensor._become_memory()
        if not persistent:
            self._unsaved.add(name)

    def register_module(self, name: str, module: Module) -> None:
        """Registers a child module, which may be compiled, under a name."""
        if not isinstance(unwrap_module(module), Module):
            raise ArgumentTypeError(
                f"{type(self).__name__}.register_module: {name!r} is {describe_object(module)};"
                " register a Module"
            )
        if any(found is self for found in unwrap_module(module).modules()):
            raise ArgumentError(
                f"{type(self).__name__}.register_module: {name!r} contains this module; a module"
                " cannot be inside itself"
            )
        self._register_member("_modules", name, module)

    add_module = register_module

    def _register_member(self, table: str, name: str, value: Any) -> None:
        self._check_name(table, name)
        self.__dict__.pop(name, None)
        self.__dict__[table][name] = value

    def _check_name(self, table: str, name: str) -> None:
        """Raises unless the name may be that of a member in this table."""
        self._check_initialized()
        if not isinstance(name, str) or not name or "." in name:
            raise ArgumentError(
                f"{type(self).__name__}: {name!r} cannot name a member; give a string without dots"
            )
        own = self.__dict__[table]
        if name not in own and (hasattr(type(self), name) or name in self._member_names()):
            raise ArgumentError(
                f"{type(self).__name__}: the name {name!r} is taken; choose another one"
            )

    def _check_initialized(self) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}: call super().__init__() before assigning parameters or"
                " modules"
            )

    def _member_names(self) -> set[str]:
        return {name for table in _TABLES for name in self.__dict__[table]}

    def __setattr__(self, name: str, value: Any) -> None:
        """Registers parameters and modules; everything else is a plain attribute."""
        if guards.active_traces:
            guards.note_owned(self)
        if isinstance(unwrap_module(value), Parameter | Module):
            self._check_initialized()
            table = "_parameters" if isinstance(value, Parameter) else "_modules"
            self._remove_member(name, but=table)
            register = self.register_parameter if table == "_parameters" else self.register_module
            register(name, value)
        elif isinstance(value, Buffer):
            self._check_initialized()
            self._remove_member(name, but="_buffers")
            self.register_buffer(name, value, persistent=value.persistent)
        elif name in self.__dict__.get("_buffers", ()) and isinstance(value, Tensor):
            self.register_buffer(name, value, persistent=name not in self._unsaved)
        else:
            if value is not None and name in self.__dict__.get("_parameters", ()):
                raise ArgumentTypeError(
                    f"{type(self).__name__}: {name!r} is a parameter and the value"
                    f" {describe_object(value)}; assign nn.Parameter(value), copy into it, `with"
                    f" no_grad(): module.{name}.copy_(value)`, or assign None to remove it"
                )
            self._remove_member(name)
            object.__setattr__(self, name, value)

    def _remove_member(self, name: str, but: str | None = None) -> None:
        for table in _TABLES:
            if table != but:
                self.__dict__.get(table, {}).pop(name, None)

    def __getattr__(self, name: str) -> Any:
        """Finds registered members; only called if there is no such attribute."""
        for table in _TABLES:
            found = self.__dict__.get(table, {})
            if name in found:
                if guards.active_traces:
                    guards.note(found)
                return found[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        if name in self._member_names():
            self._remove_member(name)
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._member_names()})

    # --- state -----------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Sets `training` on this module and all below."""
        for module in self.modules():
            if guards.active_traces:
                guards.note(module.__dict__)
            object.__setattr__(module, "training", bool(mode))
        return self

    def eval(self) -> Self:
        """`train(False)`."""
        return self.train(False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets every parameter's gradient, or fills it with zeros."""
        for parameter in self.parameters():
            parameter.zero_grad(set_to_none)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Sets `requires_grad` of every parameter."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def to(
        self,
        *target: Any,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        non_blocking: bool = False,
    ) -> Self:
        """Replaces parameters and float buffers by ones of another float dtype; sharing is kept.

        They are new tensors without gradients: make optimisers afterwards. As in PyTorch, the
        argument is a dtype, a tensor with the dtype, or a device, which must be the CPU and changes
        nothing.

        >>> import ferrograd as fg
        >>> fg.nn.Linear(2, 2).to(fg.device("cpu"), fg.float32).weight.dtype
        dtype('float32')
        """
        found = _state_dict.parse_to_arguments(target, dtype, device)
        if found is not None:
            _state_dict.convert_dtype(self, found)
        return self

    def cpu(self) -> Self:
        """The module: tensors live in main memory."""
        return self

    def float(self) -> Self:
        """`to(float32)`."""
        return self.to("float32")

    def double(self) -> Self:
        """`to(float64)`."""
        return self.to("float64")

    def half(self) -> Self:
        """`to(float16)`."""
        return self.to("float16")

    def state_dict(self, prefix: str = "") -> dict[str, Tensor]:
        """Dotted names and the tensors of parameters and persistent buffers, outside the graph.

        The tensors share memory with the module; a shared parameter appears under each name.
        """
        return _state_dict.state_dict(self, prefix)

    def load_state_dict(
        self, state: dict[str, Any], strict: bool = True, layout: str | None = None
    ) -> _state_dict.LoadReport:
        """Copies tensors or arrays into parameters and buffers, in place.

        Missing and unknown keys are an error unless `strict` is False; wrong shapes and dtypes
        always are. All errors are reported at once, and then nothing is changed. `layout="torch"`
        transposes the weights of linear layers, which are [out, in] in PyTorch;
        `layout="ferrograd"` does not. The default detects a `state_dict()` of PyTorch, and does not
        transpose arrays and tensors of ferrograd. For other dicts with torch.Tensors for such
        weights, `layout` is required.
        """
        return _state_dict.load(self, state, strict, layout)

    # --- display ---------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """The text in `repr` for this module itself."""
        return ""

    def __repr__(self) -> str:
        head = f"{type(self).__name__}("
        children = [
            f"  ({name}): " + repr(child).replace("\n", "\n  ")
            for name, child in self._modules.items()
        ]
        if not children:
            return f"{head}{self.extra_repr()})"
        first = f"{head}{self.extra_repr()}" if self.extra_repr() else head
        return "\n".join([first, *children, ")"])

    def summary(self, *inputs: Any, **named: Any) -> Summary:
        """A table of all modules with the shapes of their results and their numbers of parameters.

        The module is called with the inputs, in evaluation mode and without recording; modes are
        restored and no state changes. Without inputs there are no shapes.

        >>> import ferrograd as fg
        >>> net = fg.nn.Sequential(fg.nn.Linear(3, 4), fg.nn.ReLU())
        >>> print(net.summary(fg.ones(2, 3)))
        module | kind       | result | parameters
                 Sequential   (2, 4)            0
        0        Linear       (2, 4)           16
        1        ReLU         (2, 4)            0
        16 parameters, of which 16 learn; 128 bytes
        """
        return summarise(self, inputs, named)

    def to_string(self) -> str:
        """The tree that `repr` shows."""
        return repr(self)


_shorten_module(Module, Module.__getattr__, Module.__call__)
