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
/// `__array__` of a tensor that is part of a graph: raises with a hint.
pub(crate) static ARRAY_OF: LazyImport = LazyImport::new("ferrograd._dispatch.leaving", "array_of");
/// `float(t)` of a tensor in a graph, where a library asks for it: raises with a hint.
pub(crate) static NUMBER_OF: LazyImport =
    LazyImport::new("ferrograd._dispatch.leaving", "number_of");
/// The import spec of einops' backend module, extended by the tensor backend.
pub(crate) static EINOPS_SPEC: LazyImport =
    LazyImport::new("ferrograd._dispatch.einops", "spec_of_backends");
pub(crate) static EINOPS_REGISTER: LazyImport =
    LazyImport::new("ferrograd._dispatch.einops", "register");
/// Raises `ImportError` with a hint for some modules that the package does not have.
pub(crate) static REFUSE_IMPORT: LazyImport =
    LazyImport::new("ferrograd._inspect.hints", "refuse_import");
/// The product of a tensor and a SciPy sparse array.
pub(crate) static SPARSE_PRODUCT: LazyImport =
    LazyImport::new("ferrograd.scipy.sparse._arrays", "product");
/// The class of `t.size`: an integer that can be called as PyTorch's `t.size()`.
pub(crate) static SIZE_CLASS: LazyImport = LazyImport::new("ferrograd._tensor.size", "Size");
/// `autograd.grad(..., is_grads_batched=True)`.
pub(crate) static BATCHED_GRAD: LazyImport =
    LazyImport::new("ferrograd.autograd._batched", "batched");
/// The object that the backward of a functor gets.
pub(crate) static FUNCTOR_OPERATION: LazyImport =
    LazyImport::new("ferrograd.functors._operation", "Op");
/// A call of a custom function, as a step of a traced program that makes the call again.
pub(crate) static FUNCTION_CALL: LazyImport =
    LazyImport::new("ferrograd._compile.calls", "FunctionCall");
/// Constructors used by `t.new_zeros()`, `t.new_full()` and the like.
pub(crate) static ZEROS: LazyImport = LazyImport::new("ferrograd", "zeros");
pub(crate) static NAMED_TUPLE: LazyImport = LazyImport::new("ferrograd._dispatch.fields", "named");
pub(crate) static ONES: LazyImport = LazyImport::new("ferrograd", "ones");
pub(crate) static EMPTY: LazyImport = LazyImport::new("ferrograd", "empty");
pub(crate) static FULL: LazyImport = LazyImport::new("ferrograd", "full");
pub(crate) static TENSOR: LazyImport = LazyImport::new("ferrograd", "tensor");

/// Methods and attributes of `Tensor` written in Python: the module and the names in it. They take precedence over an
/// operation of the same name.
pub(crate) const METHODS: &[(&str, &str)] = &[
    ("ferrograd._pytorch.products", "addmm addmv addr addbmm baddbmm mv dist"),
    ("ferrograd._pytorch.places", "where index_put index_put_ index_copy index_copy_ index_fill"),
    ("ferrograd._pytorch.places", "index_fill_ masked_scatter masked_scatter_ select_scatter"),
    ("ferrograd._pytorch.places", "slice_scatter diagonal_scatter fill_diagonal_ unflatten"),
    ("ferrograd._pytorch.division", "div div_"),
    ("ferrograd._pytorch.algebra", "det slogdet logdet inverse pinverse matrix_power matrix_exp"),
    ("ferrograd._pytorch.algebra", "cholesky cholesky_inverse cholesky_solve clamp_min clamp_max"),
    ("ferrograd._pytorch.numbers", "adjoint as_strided float_power frac frac_ frexp gcd isneginf"),
    ("ferrograd._pytorch.numbers", "isposinf lcm ldexp logit nanquantile positive renorm"),
    ("ferrograd._pytorch.drawn", "multinomial exponential_ log_normal_ cauchy_ geometric_"),
    ("ferrograd._pytorch.sorting", "kthvalue mode msort aminmax bincount histc"),
    ("ferrograd._pytorch.sorting", "unique_consecutive"),
    ("ferrograd._pytorch.in_place", "addmm_ addmv_ addr_ addbmm_ baddbmm_ renorm_ clamp_min_"),
    ("ferrograd._pytorch.in_place", "clamp_max_ lt_ le_ gt_ ge_ eq_ ne_ less_ less_equal_"),
    ("ferrograd._pytorch.in_place", "greater_ greater_equal_ not_equal_ float_power_ gcd_ lcm_"),
    ("ferrograd._pytorch.in_place", "ldexp_ nextafter_"),
    ("ferrograd.fft._stft", "stft istft"),
    ("ferrograd._pytorch.places", "split"),
    ("ferrograd._tensor.random", "bernoulli bernoulli_ normal_ uniform_ random_"),
    ("ferrograd._pytorch.kinds", "nelement ndimension get_device is_same_size is_signed"),
    ("ferrograd._pytorch.kinds", "is_nonzero type pin_memory share_memory_"),
    ("ferrograd._pytorch.absent", "values indices squeeze_ unsqueeze_ t_ resize_ cuda bfloat16"),
    ("ferrograd._pytorch.absent", "to_sparse is_cpu is_cuda is_mps is_meta is_sparse"),
    ("ferrograd._pytorch.absent", "is_quantized flat"),
    ("ferrograd._dispatch.leaving", "matvec"),
    ("ferrograd._dispatch.ndarray_methods", "sort partition fill put __reversed__"),
    ("ferrograd._tensor.copying", "__copy__ __deepcopy__ full_like"),
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
