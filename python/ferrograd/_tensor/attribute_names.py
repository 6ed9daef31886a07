"""Names of attributes that are set on tensors."""

#: Set on a parameter whose module was converted: the dtype of its replacement.
REPLACEMENT_DTYPE = "_replaced"
