"""Methods and attributes of tensors that are not operations of the core."""

from __future__ import annotations

from ferrograd._names.missing import MISSING
from ferrograd._names.name_table import NameGroup

_METHOD = "Tensor.*"
_NDARRAY = "ndarray.*"
_IN_PLACE = "in place"
_RANDOM = "random numbers"
_PROPERTIES = "properties of tensors"

TENSOR = (
    NameGroup("_dispatch.array_refusal", "matvec"),
    NameGroup("_dispatch.ndarray_methods", "sort partition fill put", numpy=_NDARRAY),
    NameGroup("_dispatch.ndarray_methods", "__reversed__"),
    NameGroup("_pytorch.division", "div div_", torch=_METHOD),
    NameGroup(
        "_pytorch.dtype_queries",
        "nelement ndimension get_device is_same_size is_signed is_nonzero type pin_memory"
        " share_memory_",
        torch=_METHOD,
        subject=_PROPERTIES,
    ),
    NameGroup(
        "_pytorch.in_place",
        "addmm_ addmv_ addr_ addbmm_ baddbmm_ renorm_ clamp_min_ clamp_max_ lt_ le_ gt_ ge_ eq_ ne_"
        " less_ less_equal_ greater_ greater_equal_ not_equal_ float_power_ gcd_ lcm_ ldexp_"
        " nextafter_",
        torch=_METHOD,
        subject=_IN_PLACE,
    ),
    NameGroup(
        "_pytorch.linear_algebra",
        "det slogdet logdet inverse pinverse matrix_power matrix_exp cholesky cholesky_inverse"
        " cholesky_solve clamp_min clamp_max",
        torch=_METHOD,
    ),
    NameGroup(
        "_pytorch.math",
        "adjoint as_strided float_power frac frac_ frexp gcd isneginf isposinf lcm ldexp logit"
        " nanquantile positive renorm",
        torch=_METHOD,
    ),
    NameGroup("_pytorch.products", "addmm addmv addr addbmm baddbmm mv dist", torch=_METHOD),
    NameGroup("_pytorch.random", "multinomial", torch=_METHOD),
    NameGroup(
        "_pytorch.random",
        "exponential_ log_normal_ cauchy_ geometric_",
        torch=_METHOD,
        subject=_RANDOM,
    ),
    NameGroup(
        "_pytorch.scatter",
        "where index_put index_put_ index_copy index_copy_ index_fill index_fill_ masked_scatter"
        " masked_scatter_ select_scatter slice_scatter diagonal_scatter unflatten",
        torch=_METHOD,
    ),
    NameGroup("_pytorch.scatter", "fill_diagonal_", torch=_METHOD, subject=_IN_PLACE),
    NameGroup("_pytorch.scatter", "split", differs="of a number n makes n parts, as NumPy's"),
    NameGroup(
        "_pytorch.sorting",
        "kthvalue mode msort aminmax bincount histc unique_consecutive",
        torch=_METHOD,
    ),
    NameGroup(
        "_pytorch.unsupported",
        "is_cpu is_cuda is_mps is_meta is_sparse is_quantized",
        torch=_METHOD,
    ),
    # Properties that raise an `AttributeError` with a hint.
    *(
        NameGroup("_pytorch.unsupported", missing.names)
        for missing in MISSING
        if missing.namespace == "Tensor"
    ),
    NameGroup("_tensor.copy_protocols", "__copy__ __deepcopy__ full_like"),
    NameGroup("_tensor.random", "bernoulli bernoulli_ normal_ uniform_ random_", torch=_METHOD),
    NameGroup("fft._stft", "stft istft", torch=_METHOD),
)
