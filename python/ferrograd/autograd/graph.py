"""`fg.autograd.graph`, also `fg.graph`: the graph as an object.

Nodes, edges, hooks and saved tensors; pictures and figures. This file only re-exports.
"""

from ferrograd._core import (
    GradientEdge as GradientEdge,
    Node as Node,
    RemovableHandle as RemovableHandle,
    SavedTensor as SavedTensor,
    get_gradient_edge as get_gradient_edge,
    register_multi_grad_hook as register_multi_grad_hook,
)
from ferrograd._inspect.graph import (
    GraphMemory as GraphMemory,
    GraphSummary as GraphSummary,
    OperationShare as OperationShare,
    memory as memory,
    summary as summary,
    to_dot as to_dot,
    to_mermaid as to_mermaid,
)
from ferrograd.autograd._saved_tensor_hooks import (
    allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks as disable_saved_tensors_hooks,
    disallow_mutation_on_saved_tensors as disallow_mutation_on_saved_tensors,
    increment_version as increment_version,
    save_on_cpu as save_on_cpu,
    saved_tensors_hooks as saved_tensors_hooks,
)
