//! Attributes of `Tensor`: shape, dtype, memory, views without arguments, and dtype conversions.

use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyTuple};

use crate::bindings::call::convert;
use crate::bindings::call::intercept::Call;
use crate::bindings::errors::{bad_type, bad_value, to_python};
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, wrap_result_of};
use crate::bindings::package;
use crate::dtype::DType;
use crate::error::Error;
use crate::ops::core::op_decl::Ints;
use crate::ops::elementwise::arithmetic::conjugate;
use crate::ops::elementwise::complex;
use crate::ops::shape::reshape;

fn permuted_view<'py>(slf: &Bound<'py, PyTensor>, axes: Ints) -> PyResult<Bound<'py, PyAny>> {
    let tensor = &slf.get().tensor;
    let view = |view| wrap_result_of(slf, view);
    Call::operator("permute", &[slf.as_any()]).run(1, || reshape::permute(tensor, axes), view)
}

/// The same data in this dtype: the tensor itself if it has the dtype, otherwise a recorded copy.
pub(super) fn with_dtype<'py>(
    slf: &Bound<'py, PyTensor>,
    dtype: DType,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor = &slf.get().tensor;
    if tensor.dtype() == dtype {
        return Ok(slf.clone().into_any());
    }
    Call::operator("astype", &[slf.as_any()])
        .run_tensor(tensor.size(), || tensor.astype(dtype).map(|copy| copy.with_kind_of(tensor)))
}

#[pymethods]
impl PyTensor {
    /// The size of each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.shape())
    }

    /// The real part, as a view; a real tensor is its own. Assigning to it changes the tensor.
    #[getter]
    fn real<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = &slf.get().tensor;
        if !tensor.dtype().is_complex() {
            return Ok(slf.clone().into_any());
        }
        let view = |view| wrap_result_of(slf, view);
        Call::operator("real", &[slf.as_any()]).run(1, || complex::real(tensor), view)
    }

    #[setter(real)]
    fn set_real(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::real(slf)?.set_item(PyEllipsis::get(slf.py()), value)
    }

    /// The imaginary part, as a view; zeros for a real tensor. Assigning to it changes the tensor.
    #[getter]
    fn imag<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = &slf.get().tensor;
        let (work, view) = (if tensor.dtype().is_complex() { 1 } else { tensor.size() }, |view| {
            wrap_result_of(slf, view)
        });
        Call::operator("imag", &[slf.as_any()]).run(work, || complex::imag(tensor), view)
    }

    #[setter(imag)]
    fn set_imag(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let dtype = slf.get().tensor.dtype();
        if !dtype.is_complex() {
            let what = format!("the elements are {dtype}, which have no imaginary part to set");
            return Err(bad_type("imag", what, "convert the tensor first, t.astype(complex)"));
        }
        Self::imag(slf)?.set_item(PyEllipsis::get(slf.py()), value)
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor.ndim()
    }

    /// The number of axes.
    fn dim(&self) -> usize {
        self.tensor.ndim()
    }

    /// The number of elements; calling it returns the shape, as PyTorch's `size()`.
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let class = package::SIZE_CLASS.get(py)?;
        class.call1((self.tensor.size(), PyTuple::new(py, self.tensor.shape())?))
    }

    /// The number of elements.
    fn numel(&self) -> usize {
        self.tensor.size()
    }

    /// The element type, a NumPy dtype.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        numpy::descr(py, self.tensor.dtype())
    }

    /// The bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.tensor.dtype().size()
    }

    /// The bytes of one element.
    fn element_size(&self) -> usize {
        self.tensor.dtype().size()
    }

    /// The bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.tensor.size() * self.tensor.dtype().size()
    }

    /// The bytes to step per axis, as NumPy counts them.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let size = self.tensor.dtype().size() as isize;
        PyTuple::new(py, self.tensor.layout().strides().iter().map(|s| s * size))
    }

    /// The elements to step per axis, as PyTorch counts them; one number for one axis.
    #[pyo3(signature = (dim=None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        let strides = self.tensor.layout().strides();
        let Some(dim) = dim else {
            return Ok(PyTuple::new(py, strides)?.into_any());
        };
        let axis = crate::array::normalize_axis("stride", dim, strides.len())?;
        Ok(strides[axis].into_pyobject(py)?.into_any())
    }

    /// Whether the elements lie in C order without gaps.
    fn is_contiguous(&self) -> bool {
        self.tensor.is_contiguous()
    }

    /// Where the elements are: always `'cpu'`.
    #[getter]
    fn device(&self) -> &'static str {
        "cpu"
    }

    /// How often the memory was changed in place; views and `detach()` share it.
    #[getter]
    fn _version(&self) -> PyResult<u32> {
        if self.tensor.is_inference() {
            return Err(to_python(Box::new(Error::Inference {
                op: "_version".into(),
                what: "a tensor made in inference mode does not count its changes",
                remedy: "clone() it outside inference mode",
            })));
        }
        Ok(self.tensor.version())
    }

    /// The axes in reverse order, as a view.
    #[getter(T)]
    fn transposed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        permuted_view(slf, (0..slf.get().tensor.ndim() as i64).rev().collect())
    }

    /// The last two axes swapped, as a view.
    #[getter(mT)]
    fn matrix_transposed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let n = slf.get().tensor.ndim();
        if n < 2 {
            let what = format!("the tensor has {n} dimensions");
            return Err(bad_value("mT", what, "use it on matrices or batches of them"));
        }
        let mut axes: Ints = (0..n as i64).collect();
        axes.swap(n - 1, n - 2);
        permuted_view(slf, axes)
    }

    /// The complex conjugate; a real tensor is its own. Recorded.
    fn conj<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = &slf.get().tensor;
        if !tensor.dtype().is_complex() {
            return Ok(slf.clone().into_any());
        }
        Call::operator("conjugate", &[slf.as_any()]).run_tensor(tensor.size(), || conjugate(tensor))
    }

    /// The complex conjugate; a real tensor is its own. Recorded.
    fn conjugate<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::conj(slf)
    }

    /// The conjugate of each element, the last two axes swapped.
    #[getter(mH)]
    fn adjoint<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::matrix_transposed(slf)?.call_method0("conj")
    }

    /// The conjugate of a matrix with its axes swapped.
    #[getter(H)]
    fn hermitian<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let n = slf.get().tensor.ndim();
        if n != 2 {
            let what = format!("the tensor has {n} dimensions");
            return Err(bad_value("H", what, "use mH on batches of matrices"));
        }
        Self::adjoint(slf)
    }

    /// The same data as float64; recorded.
    fn double<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        with_dtype(slf, DType::F64)
    }

    /// The same data as float32; recorded.
    fn float<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        with_dtype(slf, DType::F32)
    }

    /// The same data as float16; recorded.
    fn half<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        with_dtype(slf, DType::F16)
    }

    /// The same data as int16.
    fn short<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        with_dtype(slf, DType::I16)
    }

    /// The same data as int8.
    fn char<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        with_dtype(slf, DType::I8)
    }

    /// The same data as uint8.
    fn byte<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        with_dtype(slf, DType::U8)
    }

    /// The same data as complex64; recorded.
    fn cfloat<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        with_dtype(slf, DType::C64)
    }

    /// The same data as complex128; recorded.
    fn cdouble<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        with_dtype(slf, DType::C128)
    }

    /// The same data as int64.
    fn long<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        with_dtype(slf, DType::I64)
    }

    /// The same data as int32.
    fn int<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        with_dtype(slf, DType::I32)
    }

    /// The same data as booleans.
    fn bool<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        with_dtype(slf, DType::Bool)
    }

    /// The tensor itself: there is only the CPU.
    fn cpu<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        slf.clone()
    }

    /// The tensor itself on `'cpu'`, as the array API standard asks for it; there is no other device and no stream.
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device<'py>(
        slf: &Bound<'py, Self>,
        device: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        if let Some(stream) = stream {
            let what = format!("the stream {} was given, and the CPU has none", stream.repr()?);
            return Err(bad_value("to_device", what, "leave it out"));
        }
        if !is_device("to_device", device)? {
            let what =
                format!("there is no device {}; tensors live in main memory", device.repr()?);
            return Err(bad_value("to_device", what, "use \"cpu\""));
        }
        Ok(slf.clone())
    }

    /// The same data in another dtype, or on `'cpu'`: by position a dtype, a device or a tensor to be like. The tensor
    /// itself where nothing changes, unless `copy`.
    #[pyo3(signature = (*targets, dtype=None, device=None, copy=false, non_blocking=false))]
    fn to<'py>(
        slf: &Bound<'py, Self>,
        targets: &Bound<'py, PyTuple>,
        dtype: Option<&Bound<'py, PyAny>>,
        device: Option<&Bound<'py, PyAny>>,
        copy: bool,
        non_blocking: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = non_blocking;
        let mut wanted = slf.get().tensor.dtype();
        for target in targets.iter().chain(dtype.cloned()).chain(device.cloned()) {
            if !is_device("to", &target)? {
                wanted = match target.cast::<PyTensor>() {
                    Ok(other) => other.get().tensor.dtype(),
                    Err(_) => convert::dtype_of("to", &target)?,
                };
            }
        }
        if copy && wanted == slf.get().tensor.dtype() {
            return slf.call_method0("clone");
        }
        with_dtype(slf, wanted)
    }
}

/// Whether an object names a device; devices other than the CPU are errors.
pub(super) fn is_device(op: &str, target: &Bound<'_, PyAny>) -> PyResult<bool> {
    let named = target.getattr_opt("type")?.filter(|_| !target.is_instance_of::<PyTensor>());
    let Ok(device) = named.unwrap_or_else(|| target.clone()).extract::<String>() else {
        return Ok(false);
    };
    let name = device.split(':').next().unwrap_or_default();
    if !["cpu", "cuda", "mps", "xpu", "meta"].contains(&name) {
        return Ok(false);
    }
    if name == "cpu" {
        return Ok(true);
    }
    let what = format!("there is no device {device:?}; tensors live in main memory");
    Err(bad_value(op, what, "use \"cpu\", or leave it out"))
}
