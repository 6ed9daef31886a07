"""Explains why a tensor does not require grad."""

from ferrograd._core import Tensor, _cut_because, _vanishing
from ferrograd.errors import ArgumentTypeError


def explain_no_grad(tensor: Tensor) -> str:
    """Explains which operation cut a tensor from the graph, and what to do.

    The reason is passed on to everything computed from the tensor, so call it on the final loss.
    Inside `fg.record_call_sites()` it also names the line of the program. Arrays and Python numbers
    cannot store a reason: after `t.item()` or a copy of an array, the text only says that no tensor
    with grad is known.

    >>> import ferrograd as fg
    >>> x = fg.tensor([1.0, 2.0], requires_grad=True)
    >>> loss = (x.detach() * 3).sum()
    >>> print(fg.explain_no_grad(loss))
    the tensor does not require grad: detach() (or .data) cut it from the graph; leave detach() out where a gradient is meant
    """  # noqa: E501
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(
            f"explain_no_grad: the argument is a {type(tensor).__name__}; pass a tensor"
        )
    if tensor.requires_grad:
        node = tensor.grad_fn
        by = "as a leaf" if node is None else f"through {node.name()}"
        steps = _vanishing(tensor)
        if steps is not None:
            names = ", ".join(dict.fromkeys(step.name() for step in steps))
            return (
                f"the tensor requires grad, {by}, but its gradient is zero everywhere: every path"
                f" to a leaf goes through a step, {names}; leave the step out, or give it a"
                " gradient with a Function that passes it straight through"
            )
        return f"the tensor requires grad, {by}; nothing is cut"
    why = _cut_because(tensor)
    if why is not None:
        return f"the tensor does not require grad: {why}"
    if tensor.dtype.kind != "f":
        return (
            f"the tensor does not require grad: its dtype is {tensor.dtype}, and only floats can;"
            " convert it with astype(fg.float64)"
        )
    return (
        "the tensor does not require grad: nothing it was computed from is known to require grad;"
        " set requires_grad=True on an input before computing (values that passed through Python"
        " numbers or copies of arrays carry no history)"
    )
