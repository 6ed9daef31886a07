"""Words under which tensors keep notes in their dict."""

#: Set on a parameter whose module was converted: the dtype of its replacement.
REPLACEMENT_DTYPE = "_replaced"
