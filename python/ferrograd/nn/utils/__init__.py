"""Helpers for layers: gradients, vectors of parameters, parametrizations, padded sequences."""

import typing as _typing

from ferrograd._inspect import missing_name_errors as _missing_name_errors
from ferrograd.nn.utils import (
    parametrizations as parametrizations,
    parametrize as parametrize,
    rnn as rnn,
)
from ferrograd.nn.utils.clipping import (
    clip_grad_norm_ as clip_grad_norm_,
    clip_grad_value_ as clip_grad_value_,
    clip_grads_with_norm_ as clip_grads_with_norm_,
    get_total_norm as get_total_norm,
)
from ferrograd.nn.utils.parametrizations import (
    remove_spectral_norm as remove_spectral_norm,
    remove_weight_norm as remove_weight_norm,
    spectral_norm as spectral_norm,
    weight_norm as weight_norm,
)
from ferrograd.nn.utils.vectors import (
    parameters_to_vector as parameters_to_vector,
    vector_to_parameters as vector_to_parameters,
)

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name_errors.make_module_getattr("nn.utils")
