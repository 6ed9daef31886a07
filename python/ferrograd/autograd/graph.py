"""`fg.autograd.graph`: the graph as an object: nodes, edges, hooks and saved tensors.

This file only re-exports.
"""

from ferrograd._core import (
    GradientEdge as GradientEdge,
    Node as Node,
    RemovableHandle as RemovableHandle,
    get_gradient_edge as get_gradient_edge,
    register_multi_grad_hook as register_multi_grad_hook,
)
from ferrograd.autograd._saved import (
    disable_saved_tensors_hooks as disable_saved_tensors_hooks,
    increment_version as increment_version,
    save_on_cpu as save_on_cpu,
    saved_tensors_hooks as saved_tensors_hooks,
)
