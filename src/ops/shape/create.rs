//! Creation and copies: constants, contiguous forms, detached and owned copies.

use crate::dtype::{Complex128, DType};
use crate::error::{Error, Result};
use crate::kernels;
use crate::ops::core::broadcast::broadcast_to;
use crate::ops::core::int_range::check_int_range;
use crate::ops::core::op_decl::Scalar;
use crate::ops::core::structured::{NodeSpec, move_cost, record_output, save_none};
use crate::tensor::{AtomicDetachReason, DetachReason, Tensor, TensorFlags};

/// An empty `Vec` with capacity `n`; an error if the allocation fails.
pub(crate) fn try_vec_with_capacity<T>(n: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    match list.try_reserve_exact(n) {
        Ok(()) => Ok(list),
        Err(_) => Err(Box::new(Error::Memory { bytes: n.saturating_mul(size_of::<T>()) })),
    }
}

/// The error for a complex number where a real one is expected.
#[cold]
fn not_real(re: f64, im: f64, dtype: DType) -> Box<Error> {
    Box::new(Error::Unsupported {
        op: "full".into(),
        what: format!("the number ({re}{im:+}j) goes into elements of {dtype}"),
        remedy: "give its real part, or use a complex dtype",
    })
}

/// The number for an integer dtype, as Python converts it: truncated, and refused if out of range.
fn as_integer(value: Scalar, dtype: DType) -> Result<Scalar> {
    let whole = match value {
        // Both bounds are floats; everything between them truncates to an int64.
        Scalar::Float(f) if f > -9_223_372_036_854_777_856.0 && f < 9_223_372_036_854_775_808.0 => {
            Scalar::Int(f as i64)
        }
        Scalar::Float(f)
            if (9_223_372_036_854_775_808.0..18_446_744_073_709_551_616.0).contains(&f) =>
        {
            Scalar::Unsigned(f as u64)
        }
        Scalar::Float(value) => {
            return Err(Box::new(Error::NoInteger { op: "full".into(), value, dtype }));
        }
        other => other,
    };
    check_int_range("full", dtype, whole)
}

/// NumPy's `full`: a float or complex fill value is cast like an array.
pub(crate) fn full_cast(dims: &[usize], value: Scalar, dtype: DType) -> Result<Tensor> {
    let converted = match value {
        Scalar::Float(_) => dtype.is_integer(),
        Scalar::Complex(..) => !dtype.is_complex(),
        _ => false,
    };
    if converted {
        return broadcast_to(&Tensor::scalar(value).astype(dtype)?, dims)?.duplicate();
    }
    Tensor::full(dims, value, dtype)
}

impl Tensor {
    /// A tensor filled with one number.
    ///
    /// # Errors
    /// `IntegerRange` and `NoInteger` for a number that the integer dtype does not have.
    pub fn full(dims: &[usize], value: Scalar, dtype: DType) -> Result<Tensor> {
        let value = if dtype.is_integer() { as_integer(value, dtype)? } else { value };
        let out = Tensor::empty(dims, dtype)?;
        match value {
            Scalar::Int(i) => kernels::fill_int(i, out.view_mut()),
            Scalar::Complex(re, im) if !dtype.is_complex() => {
                return Err(not_real(re, im, dtype));
            }
            Scalar::Complex(re, im) => kernels::fill_complex(re, im, out.view_mut()),
            other => kernels::fill(other.as_f64(), out.view_mut()),
        }
        Ok(out)
    }

    /// A tensor of zeros.
    pub fn zeros(dims: &[usize], dtype: DType) -> Result<Tensor> {
        let out = Tensor::empty(dims, dtype)?;
        kernels::zero(out.view_mut());
        Ok(out)
    }

    /// A tensor of ones.
    pub fn ones(dims: &[usize], dtype: DType) -> Result<Tensor> {
        Tensor::full(dims, Scalar::Int(1), dtype)
    }

    /// A 0-d tensor of NumPy's dtype for a Python number.
    pub fn scalar(value: Scalar) -> Tensor {
        match value {
            Scalar::Bool(b) => Tensor::from(b),
            Scalar::Int(i) => Tensor::from(i),
            Scalar::Unsigned(u) => Tensor::from(u),
            Scalar::Float(f) | Scalar::Huge(f) => Tensor::from(f),
            Scalar::Complex(re, im) => Tensor::from(Complex128::new(re, im)),
        }
    }

    /// A new contiguous copy outside the graph.
    pub(crate) fn duplicate(&self) -> Result<Tensor> {
        let out = Tensor::empty(self.shape(), self.dtype())?;
        kernels::copy(self.view_of(), out.view_mut());
        Ok(out)
    }

    /// The same data, outside the graph, aligned and not writable by others; a copy if necessary.
    pub(crate) fn stable_data(&self) -> Result<Tensor> {
        let aligned = (self.ptr() as usize).is_multiple_of(self.dtype().size());
        if self.storage().has_external_writer() || !aligned {
            self.duplicate()
        } else {
            Ok(self.detach())
        }
    }

    /// This tensor if it is contiguous, else a recorded contiguous copy. Decided by strides alone, so that the copy of an
    /// inference-mode tensor is an inference tensor too.
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        let copy = self.copied("contiguous")?;
        Ok(if self.is_inference() { copy.marked(TensorFlags::INFERENCE) } else { copy })
    }

    /// A copy with its own storage, recorded as the identity.
    pub(crate) fn copied(&self, name: &'static str) -> Result<Tensor> {
        let out = self.duplicate()?;
        record_output(out, &[self], |out| NodeSpec {
            name,
            cost: move_cost(out),
            params: (),
            saved: save_none(),
            backward: |(), g, cx| cx.give_with(0, |_| Ok(g)),
        })
    }

    /// This tensor's data if it is not shared, else a copy.
    #[cfg(feature = "python")]
    pub(crate) fn into_owned(mut self) -> Result<Tensor> {
        if self.is_overwritable() {
            self.clear_history();
            Ok(self)
        } else {
            self.duplicate()
        }
    }

    /// A finished gradient that shares memory with nothing; keeps its history if `create_graph`.
    pub(crate) fn separate(mut self, create_graph: bool) -> Result<Tensor> {
        let exclusive = self.is_contiguous() && self.storage().is_exclusive();
        match (create_graph, exclusive) {
            (true, true) => return Ok(self),
            (true, false) => return self.copied("clone"),
            (false, true) => self.clear_history(),
            (false, false) => self = self.duplicate()?,
        }
        self.set_cause(&AtomicDetachReason::here(DetachReason::Backward));
        Ok(self)
    }
}

crate::operations! { family "creation";
    /// A copy with storage of its own. Derivative: `g`.
    [numpy("copy"), aliases("copy"), ignores(("order", None))]
    fn clone_(x: Tensor) -> Tensor {
        x.copied("clone").map(|copy| copy.with_kind_of(x))
    }
    /// Zeros of the same shape and dtype.
    [numpy("zeros_like"), core_function("_zeros_like"), constant, memory]
    fn zeros_like(x: Tensor, dtype: Option<DType> = None) -> Tensor {
        Tensor::zeros(x.shape(), dtype.unwrap_or(x.dtype()))
    }
    /// Ones of the same shape and dtype.
    [numpy("ones_like"), core_function("_ones_like"), constant, memory]
    fn ones_like(x: Tensor, dtype: Option<DType> = None) -> Tensor {
        Tensor::ones(x.shape(), dtype.unwrap_or(x.dtype()))
    }
    /// One repeated number of the same shape and dtype.
    [numpy("full_like"), core_function("_full_like"), no_method, constant, memory]
    fn full_like(x: Tensor, fill_value: Scalar, dtype: Option<DType> = None) -> Tensor {
        full_cast(x.shape(), fill_value, dtype.unwrap_or(x.dtype()))
    }
}
