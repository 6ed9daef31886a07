"""Why a tensor requires no grad.

Owns: the words of `explain_no_grad`. Never looks at values; the core remembers what cut a tensor.
"""

from ferrograd._core import Tensor, _cut_by
from ferrograd.errors import ArgumentTypeError

_CAUSES = {
    "detach": (
        "detach() (or .data) cut it from the graph",
        "leave detach() out where a gradient is meant",
    ),
    "no_grad": (
        "it was computed with recording off: inside no_grad() or set_grad_enabled(False)",
        "compute it outside, or inside enable_grad()",
    ),
    "inference_mode": (
        "it was computed inside inference_mode()",
        "compute it outside",
    ),
    "not_differentiable": (
        "an operation without a derivative made it: a cast to integers or booleans, a comparison,"
        " an index such as argmax, or a step such as floor or sign",
        "use a differentiable operation instead",
    ),
    "array": (
        "its values went through a NumPy array (numpy() or np.asarray), which has no history",
        "keep the tensor: NumPy's functions take it and record",
    ),
    "copy": (
        "fg.tensor(t) copied the values of a tensor, not its history",
        "use t.clone()",
    ),
    "forward": (
        "the forward of a custom function computed it, and it is not a differentiable result of"
        " that function",
        "return it from forward, or leave mark_non_differentiable out",
    ),
    "backward": (
        "it is a gradient, and the backward that computed it was not recorded",
        "pass create_graph=True to backward or grad",
    ),
}


def explain_no_grad(tensor: Tensor) -> str:
    """Says what cut a tensor from the graph: which kind of operation, and what to do.

    The reason passes on to everything computed from a tensor that was cut, so the question may be
    asked of the final loss. Inside `fg.record_call_sites()` the line of the program is named, too.
    Arrays and Python numbers carry no reason: after `t.item()` or a copy of an array, the answer is
    that nothing is known to have required grad.

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
        return f"the tensor requires grad, {by}; nothing is cut"
    cause, site = _cut_by(tensor)
    if cause is not None:
        what, remedy = _CAUSES[cause]
        at = f" (called at {site})" if site else ""
        return f"the tensor does not require grad: {what}{at}; {remedy}"
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
