"""Words under which tensors keep notes in their dict."""

#: What a parameter has whose module was converted: the dtype of the parameter in its place.
REPLACED = "_replaced"
