//! float16 for operations that compute in float32 internally: operands are widened before, results rounded once after.
//!
//! Invariant: both casts are recorded, so gradients of float16 tensors are float16; calls without float16 are unchanged.

use crate::dtype::DType;
use crate::error::Result;
use crate::ops::core::arguments::OneOrTuple;
use crate::ops::core::broadcast::astype;
use crate::tensor::Tensor;

/// How the arguments of a call use float16, and hence whether its result is narrowed to float16.
#[derive(Clone, Copy, Debug)]
pub struct Float16Use {
    /// Parameters whose dtype does not take part in the promotion of the result.
    indices: &'static [&'static str],
    /// Whether any argument is float16.
    found: bool,
    /// Whether a promoted operand is float16, and whether one forces float32.
    half: bool,
    single: bool,
    /// The dtype the call requests for its result.
    requested: Option<DType>,
}

impl Float16Use {
    /// The state before any argument was seen.
    #[inline(always)]
    pub const fn new(indices: &'static [&'static str]) -> Float16Use {
        Float16Use { indices, found: false, half: false, single: false, requested: None }
    }

    /// Notes a tensor argument.
    #[inline(always)]
    pub fn note_operand(&mut self, name: &'static str, dtype: DType) {
        if matches!(dtype, DType::F16 | DType::F32 | DType::I16 | DType::U16) {
            let (promotes, half) = (!self.indices.contains(&name), dtype == DType::F16);
            self.found |= half;
            self.half |= promotes && half;
            self.single |= promotes && !half;
        }
    }

    /// Notes an explicit result dtype.
    #[inline(always)]
    pub fn note_dtype(&mut self, dtype: DType) {
        self.found |= dtype == DType::F16;
        self.requested = Some(dtype);
    }

    /// Whether any argument is float16.
    #[inline(always)]
    pub fn found(&self) -> bool {
        self.found
    }

    /// Casts the float32 result of the widened call to the dtype that the original call returns.
    ///
    /// # Errors
    /// `Memory` when there is none for the result.
    pub fn narrow_result<T: Narrow>(&self, result: T) -> Result<T> {
        let narrow = match self.requested {
            Some(dtype) => dtype == DType::F16,
            None => self.half && !self.single,
        };
        if narrow { Narrow::narrow(result) } else { Ok(result) }
    }
}

/// float32 in place of float16; other dtypes unchanged.
pub(crate) fn without_float16(dtype: DType) -> DType {
    if dtype == DType::F16 { DType::F32 } else { dtype }
}

/// A float16 tensor cast to float32; others unchanged.
pub(crate) fn widen(x: &Tensor) -> Result<Tensor> {
    astype(x, without_float16(x.dtype()))
}

/// A result whose float32 tensors can be narrowed to float16.
pub trait Narrow: Sized {
    /// Casts float32 tensors to float16.
    ///
    /// # Errors
    /// `Memory` when there is none for the result.
    fn narrow(self) -> Result<Self>;
}

impl Narrow for Tensor {
    fn narrow(self) -> Result<Tensor> {
        if self.dtype() == DType::F32 { astype(&self, DType::F16) } else { Ok(self) }
    }
}
impl Narrow for Vec<Tensor> {
    fn narrow(self) -> Result<Vec<Tensor>> {
        self.into_iter().map(Narrow::narrow).collect()
    }
}
impl Narrow for OneOrTuple {
    fn narrow(self) -> Result<OneOrTuple> {
        Ok(match self {
            OneOrTuple::One(one) => OneOrTuple::One(Narrow::narrow(one)?),
            OneOrTuple::Tuple(all) => OneOrTuple::Tuple(Narrow::narrow(all)?),
        })
    }
}
impl Narrow for (Tensor, Tensor) {
    fn narrow(self) -> Result<Self> {
        Ok((Narrow::narrow(self.0)?, Narrow::narrow(self.1)?))
    }
}
impl Narrow for (Tensor, Tensor, Tensor) {
    fn narrow(self) -> Result<Self> {
        Ok((Narrow::narrow(self.0)?, Narrow::narrow(self.1)?, Narrow::narrow(self.2)?))
    }
}
impl Narrow for bool {
    fn narrow(self) -> Result<bool> {
        Ok(self)
    }
}
