//! Rust's operators on tensors: `+ - * / %`, their assigning forms and unary `-`, for owned and borrowed tensors and for
//! numbers. The bindings use the fallible functions instead.
//!
//! A number on the right may be anything that converts to [`Scalar`]; on the left it is `f64` or `i32`, the types of Rust's
//! literals: with `f32` too, the type of the literal in `(2.0 * &x).sin()` would be ambiguous.
//!
//! # Panics
//! As ndarray's operators: if the shapes do not broadcast, or if an assignment is refused (a leaf that requires grad, while
//! recording). The methods of the same names return `Result`.

use std::ops::{
    Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign,
};

use crate::error::Result;
use crate::ops::core::elementwise::{Elementwise, binary, binary_scalar, scalar_binary, unary};
use crate::ops::core::op_decl::{Operand, Scalar};
use crate::ops::elementwise::arithmetic::{ADD, DIVIDE, MULTIPLY, NEGATIVE, REMAINDER, SUBTRACT};
use crate::ops::inplace::methods;
use crate::tensor::Tensor;

fn or_panic<T>(op: &'static Elementwise, result: Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("{} failed: {error}", op.name))
}

macro_rules! numbers {
    ($($number:ty => $variant:ident($as:ty)),*) => {$(
        impl From<$number> for Scalar {
            fn from(value: $number) -> Scalar {
                Scalar::$variant(<$as>::from(value))
            }
        }
    )*};
}
numbers!(f64 => Float(f64), f32 => Float(f64), i64 => Int(i64), i32 => Int(i64));

/// One operator between tensors, for these operand types.
macro_rules! operator {
    ($trait:ident $method:ident $spec:ident [$($left:ty, $right:ty);*]) => {$(
        impl $trait<$right> for $left {
            type Output = Tensor;
            fn $method(self, other: $right) -> Tensor {
                or_panic(&$spec, binary(&$spec, &self, &other))
            }
        }
    )*};
}

macro_rules! operators {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident $spec:ident),*) => {$(
        operator!($trait $method $spec [&Tensor, &Tensor; &Tensor, Tensor; Tensor, &Tensor; Tensor, Tensor]);
        operators!(@right $trait $method $spec [&Tensor; Tensor]);
        operators!(@left $trait $method $spec [f64, &Tensor; f64, Tensor; i32, &Tensor; i32, Tensor]);

        /// Changes the elements in place: every handle on them sees it.
        impl $assign<&Tensor> for Tensor {
            fn $assign_method(&mut self, other: &Tensor) {
                let other = Operand::Tensor(other.clone());
                or_panic(&$spec, methods::binary_(&$spec, self, &other));
            }
        }
        impl $assign<Tensor> for Tensor {
            fn $assign_method(&mut self, other: Tensor) {
                or_panic(&$spec, methods::binary_(&$spec, self, &Operand::Tensor(other)));
            }
        }
        impl<N: Into<Scalar>> $assign<N> for Tensor {
            fn $assign_method(&mut self, other: N) {
                or_panic(&$spec, methods::binary_(&$spec, self, &Operand::Scalar(other.into())));
            }
        }
    )*};
    (@right $trait:ident $method:ident $spec:ident [$($left:ty);*]) => {$(
        impl<N: Into<Scalar>> $trait<N> for $left {
            type Output = Tensor;
            fn $method(self, other: N) -> Tensor {
                or_panic(&$spec, binary_scalar(&$spec, &self, other.into()))
            }
        }
    )*};
    (@left $trait:ident $method:ident $spec:ident [$($left:ty, $right:ty);*]) => {$(
        impl $trait<$right> for $left {
            type Output = Tensor;
            fn $method(self, other: $right) -> Tensor {
                or_panic(&$spec, scalar_binary(&$spec, self.into(), &other))
            }
        }
    )*};
}
operators!(
    Add add AddAssign add_assign ADD,
    Sub sub SubAssign sub_assign SUBTRACT,
    Mul mul MulAssign mul_assign MULTIPLY,
    Div div DivAssign div_assign DIVIDE,
    Rem rem RemAssign rem_assign REMAINDER
);

impl Neg for &Tensor {
    type Output = Tensor;
    fn neg(self) -> Tensor {
        or_panic(&NEGATIVE, unary(&NEGATIVE, self))
    }
}

impl Neg for Tensor {
    type Output = Tensor;
    fn neg(self) -> Tensor {
        -&self
    }
}
