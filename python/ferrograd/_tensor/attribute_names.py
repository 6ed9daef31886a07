"""Words under which tensors keep notes in their dict.

Owns: the words that more than one room reads. Never anything else.
"""

#: What a parameter has whose module was converted: the dtype of the parameter in its place.
REPLACED = "_replaced"
