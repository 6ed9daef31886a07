//! Rust's operators on tensors.
//!
//! Owns: `+ - * / %` and unary `-` on `&Tensor`, also with a float on either side.
//! Never used by the bindings, which call the fallible functions.
//!
//! # Panics
//! As ndarray's operators: when the shapes do not broadcast. The methods of the same meaning return `Result`.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use crate::ops::arith::{ADD, DIVIDE, MULTIPLY, REMAINDER, SUBTRACT};
use crate::ops::declare::Scalar;
use crate::ops::elementwise::{Elementwise, binary, binary_scalar, scalar_binary, unary};
use crate::tensor::Tensor;

fn settled(op: &'static Elementwise, result: crate::error::Result<Tensor>) -> Tensor {
    result.unwrap_or_else(|error| panic!("{} failed: {error}", op.name))
}

macro_rules! operators {
    ($($trait:ident $method:ident $spec:ident),*) => {$(
        impl $trait<&Tensor> for &Tensor {
            type Output = Tensor;
            fn $method(self, other: &Tensor) -> Tensor {
                settled(&$spec, binary(&$spec, self, other))
            }
        }
        impl $trait<f64> for &Tensor {
            type Output = Tensor;
            fn $method(self, other: f64) -> Tensor {
                settled(&$spec, binary_scalar(&$spec, self, Scalar::Float(other)))
            }
        }
        impl $trait<&Tensor> for f64 {
            type Output = Tensor;
            fn $method(self, other: &Tensor) -> Tensor {
                settled(&$spec, scalar_binary(&$spec, Scalar::Float(self), other))
            }
        }
        impl $trait<Tensor> for Tensor {
            type Output = Tensor;
            fn $method(self, other: Tensor) -> Tensor {
                $trait::$method(&self, &other)
            }
        }
        impl $trait<f64> for Tensor {
            type Output = Tensor;
            fn $method(self, other: f64) -> Tensor {
                $trait::$method(&self, other)
            }
        }
    )*};
}
operators!(Add add ADD, Sub sub SUBTRACT, Mul mul MULTIPLY, Div div DIVIDE, Rem rem REMAINDER);

impl Neg for &Tensor {
    type Output = Tensor;
    fn neg(self) -> Tensor {
        settled(&crate::ops::arith::NEGATIVE, unary(&crate::ops::arith::NEGATIVE, self))
    }
}
