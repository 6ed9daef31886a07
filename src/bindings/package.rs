//! Names of the Python package that the bindings import lazily, and the methods of `Tensor` that are written in Python.
//!
//! Invariant: no other file of the bindings names a module of the package; `tests/layers/rooms.rs` checks both this and
//! that every name here exists.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The package itself.
pub(crate) const PACKAGE: &str = "ferrograd";

/// The namespace of the array API standard.
pub(crate) const ARRAY_API: &str = "ferrograd.array_api";

/// NumPy ufuncs that are operations of this crate: a dict from ufunc to operation.
pub(crate) static UFUNC_OPERATIONS: LazyImport =
    LazyImport::new("ferrograd._dispatch.protocols", "OPERATIONS");
/// `__array_ufunc__` for all other ufuncs.
pub(crate) static ARRAY_UFUNC: LazyImport =
    LazyImport::new("ferrograd._dispatch.protocols", "array_ufunc");
/// `__array_function__`.
pub(crate) static ARRAY_FUNCTION: LazyImport =
    LazyImport::new("ferrograd._dispatch.protocols", "array_function");
/// What NumPy is told that asks for the array of a tensor in a graph.
pub(crate) static ARRAY_OF: LazyImport =
    LazyImport::new("ferrograd._dispatch.array_refusal", "array_of");
/// What refuses `float(t)` of a tensor in a graph where a library asks for it.
pub(crate) static NUMBER_OF: LazyImport =
    LazyImport::new("ferrograd._dispatch.array_refusal", "number_of");
/// The specification of einops' backends, followed by ours; and adding ours to a loaded einops.
pub(crate) static EINOPS_SPEC: LazyImport =
    LazyImport::new("ferrograd._dispatch.einops", "spec_of_backends");
pub(crate) static EINOPS_REGISTER: LazyImport =
    LazyImport::new("ferrograd._dispatch.einops", "register");
/// Raises `ImportError` with a hint for some modules that the package does not have.
pub(crate) static REFUSE_IMPORT: LazyImport =
    LazyImport::new("ferrograd._inspect.missing_names", "refuse_import");
/// The product of a tensor and a sparse array of SciPy's.
pub(crate) static SPARSE_PRODUCT: LazyImport =
    LazyImport::new("ferrograd.scipy.sparse._arrays", "product");
/// The class of `t.size`.
pub(crate) static SIZE_CLASS: LazyImport = LazyImport::new("ferrograd._tensor.size", "Size");
/// `autograd.grad` of a batch of gradients.
pub(crate) static BATCHED_GRAD: LazyImport =
    LazyImport::new("ferrograd.autograd._batched_grad", "batched");
/// What the backward of a functor is given.
pub(crate) static FUNCTOR_OPERATION: LazyImport =
    LazyImport::new("ferrograd.functors._recorded_call", "Op");
/// A call of a custom function that a step of a recorded function makes again.
pub(crate) static FUNCTION_CALL: LazyImport =
    LazyImport::new("ferrograd._compile.host_call", "FunctionCall");
/// The constructors behind `t.new_zeros()` and its like.
pub(crate) static ZEROS: LazyImport = LazyImport::new("ferrograd._tensor.creation", "zeros");
pub(crate) static NAMED_TUPLE: LazyImport =
    LazyImport::new("ferrograd._dispatch.named_tuples", "named");
pub(crate) static ONES: LazyImport = LazyImport::new("ferrograd._tensor.creation", "ones");
pub(crate) static EMPTY: LazyImport = LazyImport::new("ferrograd._tensor.creation", "empty");
pub(crate) static FULL: LazyImport = LazyImport::new("ferrograd._tensor.creation", "full");
pub(crate) static TENSOR: LazyImport = LazyImport::new("ferrograd", "tensor");

/// Methods and attributes of `Tensor` written in Python: the module and the names in it. They take precedence over an
/// operation of the same name.
pub(crate) const METHODS: &[(&str, &str)] = &[
    ("ferrograd._pytorch.products", "addmm addmv addr addbmm baddbmm mv dist"),
    ("ferrograd._pytorch.scatter", "where index_put index_put_ index_copy index_copy_ index_fill"),
    ("ferrograd._pytorch.scatter", "index_fill_ masked_scatter masked_scatter_ select_scatter"),
    ("ferrograd._pytorch.scatter", "slice_scatter diagonal_scatter fill_diagonal_ unflatten"),
    ("ferrograd._pytorch.division", "div div_"),
    (
        "ferrograd._pytorch.linear_algebra",
        "det slogdet logdet inverse pinverse matrix_power matrix_exp",
    ),
    (
        "ferrograd._pytorch.linear_algebra",
        "cholesky cholesky_inverse cholesky_solve clamp_min clamp_max",
    ),
    ("ferrograd._pytorch.math", "adjoint as_strided float_power frac frac_ frexp gcd isneginf"),
    ("ferrograd._pytorch.math", "isposinf lcm ldexp logit nanquantile positive renorm"),
    ("ferrograd._pytorch.random", "multinomial exponential_ log_normal_ cauchy_ geometric_"),
    ("ferrograd._pytorch.sorting", "kthvalue mode msort aminmax bincount histc"),
    ("ferrograd._pytorch.sorting", "unique_consecutive"),
    ("ferrograd._pytorch.in_place", "addmm_ addmv_ addr_ addbmm_ baddbmm_ renorm_ clamp_min_"),
    ("ferrograd._pytorch.in_place", "clamp_max_ lt_ le_ gt_ ge_ eq_ ne_ less_ less_equal_"),
    ("ferrograd._pytorch.in_place", "greater_ greater_equal_ not_equal_ float_power_ gcd_ lcm_"),
    ("ferrograd._pytorch.in_place", "ldexp_ nextafter_"),
    ("ferrograd.fft._stft", "stft istft"),
    ("ferrograd._pytorch.scatter", "split"),
    ("ferrograd._tensor.random", "bernoulli bernoulli_ normal_ uniform_ random_"),
    ("ferrograd._pytorch.dtype_queries", "nelement ndimension get_device is_same_size is_signed"),
    ("ferrograd._pytorch.dtype_queries", "is_nonzero type pin_memory share_memory_"),
    (
        "ferrograd._pytorch.unsupported",
        "values indices squeeze_ unsqueeze_ t_ resize_ cuda bfloat16",
    ),
    ("ferrograd._pytorch.unsupported", "to_sparse is_cpu is_cuda is_mps is_meta is_sparse"),
    ("ferrograd._pytorch.unsupported", "is_quantized flat"),
    ("ferrograd._dispatch.array_refusal", "matvec"),
    ("ferrograd._dispatch.ndarray_methods", "sort partition fill put __reversed__"),
    ("ferrograd._tensor.copy_protocols", "__copy__ __deepcopy__ full_like"),
];

/// An attribute of a Python module, imported at the first use.
pub(crate) struct LazyImport {
    module: &'static str,
    name: &'static str,
    object: PyOnceLock<Py<PyAny>>,
}

impl LazyImport {
    const fn new(module: &'static str, name: &'static str) -> LazyImport {
        LazyImport { module, name, object: PyOnceLock::new() }
    }

    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        self.object.import(py, self.module, self.name)
    }
}
