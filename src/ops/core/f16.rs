//! Operations that compute with float16 as a whole: in float32, with one rounding at the end.
//!
//! Owns: who meets float16 in a call, its conversion to float32 and that of the results back. Never computes.
//! Invariant: both conversions are recorded, so gradients of float16 tensors are float16; a call without float16 is
//! not touched.

use crate::dtype::DType;
use crate::error::Result;
use crate::ops::core::arguments::OneOrTuple;
use crate::ops::core::broadcast::astype;
use crate::tensor::Tensor;

/// What the arguments of a call have to do with float16.
#[derive(Clone, Copy, Debug)]
pub struct Halves {
    /// The parameters whose dtype has no part in that of the result.
    indices: &'static [&'static str],
    /// Whether anything is float16.
    found: bool,
    /// Whether an operand that counts is float16, and whether one makes float32 of it.
    half: bool,
    single: bool,
    /// The dtype that the call asks for.
    asked: Option<DType>,
}

impl Halves {
    /// Before any argument was met.
    #[inline(always)]
    pub const fn new(indices: &'static [&'static str]) -> Halves {
        Halves { indices, found: false, half: false, single: false, asked: None }
    }

    /// A tensor as this parameter.
    #[inline(always)]
    pub fn meet(&mut self, name: &'static str, dtype: DType) {
        if matches!(dtype, DType::F16 | DType::F32 | DType::I16 | DType::U16) {
            let (counts, half) = (!self.indices.contains(&name), dtype == DType::F16);
            self.found |= half;
            self.half |= counts && half;
            self.single |= counts && !half;
        }
    }

    /// A dtype that the result is to have.
    #[inline(always)]
    pub fn meet_dtype(&mut self, dtype: DType) {
        self.found |= dtype == DType::F16;
        self.asked = Some(dtype);
    }

    /// Whether anything is float16.
    #[inline(always)]
    pub fn found(&self) -> bool {
        self.found
    }

    /// The result of the call in float32, in the dtype that the call in float16 has.
    ///
    /// # Errors
    /// `Memory` when there is none for the result.
    pub fn narrowed<T: Narrow>(&self, result: T) -> Result<T> {
        let narrow = match self.asked {
            Some(dtype) => dtype == DType::F16,
            None => self.half && !self.single,
        };
        if narrow { Narrow::narrow(result) } else { Ok(result) }
    }
}

/// float32 for float16.
pub(crate) fn wide(dtype: DType) -> DType {
    if dtype == DType::F16 { DType::F32 } else { dtype }
}

/// A float16 tensor as float32; others as they are.
pub(crate) fn widen(x: &Tensor) -> Result<Tensor> {
    astype(x, wide(x.dtype()))
}

/// A result whose float32 parts can become float16.
pub trait Narrow: Sized {
    /// float16 for float32.
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
