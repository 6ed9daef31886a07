//! The Rust types of parameters and results (`FromArg`, `IntoOutput`), and the conversion of a host's arguments to them.
//!
//! Invariant: a wrong argument is an error that names the parameter and what it expects.

use smallvec::SmallVec;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::core::f16;
use crate::ops::core::f16::{Float16Use, Narrow};
use crate::ops::core::op_decl::{
    Arg, Axes, IndexItem, Ints, Kind, Nested, Operand, Output, Returns, Scalar,
};
use crate::tensor::Tensor;

/// A Rust type that a parameter of an operation may have.
pub trait FromArg: Sized {
    /// The type in the signature of the Rust function.
    type Param<'a>
    where
        Self: 'a;
    /// What the host may pass.
    const KIND: Kind;
    /// Whether the host's null is a valid value.
    const OPTIONAL: bool = false;
    /// Converts an argument; `name` is the parameter's name, for the error.
    fn from_arg(arg: Arg, name: &'static str) -> Result<Self>;
    /// Borrows it for the Rust function.
    fn as_param(&self) -> Self::Param<'_>;
    /// The inverse of `from_arg`, with which a default is shown to the host.
    fn to_arg(&self) -> Arg;
    /// Notes whether it is float16; `name` is the parameter's name.
    #[inline(always)]
    fn note_float16(_param: &Self::Param<'_>, _name: &'static str, _float16: &mut Float16Use) {}
    /// The same argument with float16 cast to float32.
    fn widen(param: Self::Param<'_>) -> Result<Self>;
}

/// The error for an argument of a type that the parameter does not accept.
#[cold]
pub fn wrong_type(name: &'static str, want: &'static str) -> Box<Error> {
    Box::new(Error::ArgumentType {
        op: "arguments".into(),
        what: format!("{name} must be {want}"),
        remedy: format!("pass {want} as {name}"),
    })
}

/// A list of one integer is shown as that integer.
fn ints_to_arg(ints: &Ints) -> Arg {
    match ints[..] {
        [one] => Arg::Scalar(Scalar::Int(one)),
        _ => Arg::Ints(ints.clone()),
    }
}

macro_rules! from_arg {
    ($t:ty, $kind:ident, $want:literal, [$($pattern:pat => $value:expr),+], $to_arg:expr) => {
        impl FromArg for $t {
            type Param<'a> = $t;
            const KIND: Kind = Kind::$kind;
            fn from_arg(arg: Arg, name: &'static str) -> Result<Self> {
                match arg {
                    $($pattern => Ok($value),)+
                    _ => Err(wrong_type(name, $want)),
                }
            }
            fn as_param(&self) -> $t { self.clone() }
            fn widen(param: $t) -> Result<$t> { Ok(param) }
            fn to_arg(&self) -> Arg {
                let to_arg: fn(&$t) -> Arg = $to_arg;
                to_arg(self)
            }
        }
    };
}

from_arg!(isize, Int, "an integer", [Arg::Scalar(Scalar::Int(i)) => i as isize, Arg::Scalar(Scalar::Bool(b)) => b as isize], |i| Arg::Scalar(Scalar::Int(*i as i64)));
from_arg!(f64, Float, "a number", [Arg::Scalar(Scalar::Float(f)) => f, Arg::Scalar(s @ (Scalar::Bool(_) | Scalar::Int(_) | Scalar::Unsigned(_) | Scalar::Huge(_))) => s.as_f64()], |f| Arg::Scalar(Scalar::Float(*f)));
from_arg!(bool, Bool, "a boolean", [Arg::Scalar(Scalar::Bool(b)) => b, Arg::Scalar(s) => s.as_f64() != 0.0], |b| Arg::Scalar(Scalar::Bool(*b)));
from_arg!(String, Str, "a string", [Arg::Str(s) => s], |s| Arg::Str(s.clone()));
from_arg!(Scalar, Float, "a number", [Arg::Scalar(s) => s], |s| Arg::Scalar(*s));
from_arg!(Ints, Ints, "a tuple of integers", [Arg::Ints(i) => i, Arg::Scalar(Scalar::Int(i)) => SmallVec::from_slice(&[i])], |i| ints_to_arg(i));
from_arg!(Nested, Nested, "an integer or a sequence of integers or of sequences of them", [Arg::Nested(n) => n, Arg::Scalar(Scalar::Int(i)) => Nested::One(i)], |n| Arg::Nested(n.clone()));
from_arg!(Axes, Axes, "None, an integer or a tuple of integers", [
    Arg::None => Axes::All,
    Arg::Scalar(Scalar::Int(i)) => Axes::from(i as isize),
    Arg::Ints(i) => Axes::Named(i.iter().map(|&a| a as isize).collect())
], |axes| match axes.named() {
    None => Arg::None,
    Some([axis]) => Arg::Scalar(Scalar::Int(*axis as i64)),
    Some(axes) => Arg::Ints(axes.iter().map(|&a| a as i64).collect()),
});

/// The order of a norm: a number or a name.
#[derive(Clone, PartialEq, Debug)]
pub enum Order {
    /// A number; may be infinite.
    Number(f64),
    /// `"fro"`, `"nuc"`.
    Name(String),
}

from_arg!(Order, Order, "a number or a name", [Arg::Scalar(s) => Order::Number(s.as_f64()), Arg::Str(s) => Order::Name(s)], |order| match order {
    Order::Number(number) => Arg::Scalar(Scalar::Float(*number)),
    Order::Name(name) => Arg::Str(name.clone()),
});

/// The padding of a convolution: widths, or a named mode.
#[derive(Clone, PartialEq, Debug)]
pub enum Padding {
    /// One width for all axes, or one per axis.
    Widths(Ints),
    /// `"valid"`: none; `"same"`: keeps the size.
    Rule(String),
}

from_arg!(Padding, Padding, "an integer, a tuple of integers, \"valid\" or \"same\"", [
    Arg::Ints(i) => Padding::Widths(i),
    Arg::Scalar(Scalar::Int(i)) => Padding::Widths(SmallVec::from_slice(&[i])),
    Arg::Str(s) => Padding::Rule(s)
], |padding| match padding {
    Padding::Widths(widths) => ints_to_arg(widths),
    Padding::Rule(rule) => Arg::Str(rule.clone()),
});

/// The argument of `view`: a shape or a dtype.
#[derive(Clone, PartialEq, Debug)]
pub enum ShapeOrDType {
    /// Another shape.
    Shape(Ints),
    /// Another dtype for the same bytes.
    DType(DType),
}

from_arg!(ShapeOrDType, ShapeOrDType, "a shape or a dtype", [
    Arg::Ints(i) => ShapeOrDType::Shape(i),
    Arg::Scalar(Scalar::Int(i)) => ShapeOrDType::Shape(SmallVec::from_slice(&[i])),
    Arg::DType(dtype) => ShapeOrDType::DType(dtype)
], |value| match value {
    ShapeOrDType::Shape(shape) => ints_to_arg(shape),
    ShapeOrDType::DType(dtype) => Arg::DType(*dtype),
});

impl FromArg for DType {
    type Param<'a> = DType;
    const KIND: Kind = Kind::DType;
    fn from_arg(arg: Arg, name: &'static str) -> Result<DType> {
        match arg {
            Arg::DType(dtype) => Ok(dtype),
            _ => Err(wrong_type(name, "a dtype")),
        }
    }
    fn as_param(&self) -> DType {
        *self
    }
    fn to_arg(&self) -> Arg {
        Arg::DType(*self)
    }
    #[inline(always)]
    fn note_float16(param: &DType, _: &'static str, float16: &mut Float16Use) {
        float16.note_dtype(*param);
    }
    fn widen(param: DType) -> Result<DType> {
        Ok(f16::without_float16(param))
    }
}

macro_rules! from_arg_ref {
    ($t:ty, $lent:ty, $kind:ident, $want:literal, [$($pattern:pat => $value:expr),+], $to_arg:expr, $note:expr, $widen:expr) => {
        impl FromArg for $t {
            type Param<'a> = &'a $lent;
            const KIND: Kind = Kind::$kind;
            fn from_arg(arg: Arg, name: &'static str) -> Result<Self> {
                match arg {
                    $($pattern => Ok($value),)+
                    _ => Err(wrong_type(name, $want)),
                }
            }
            fn as_param(&self) -> &$lent { self }
            fn to_arg(&self) -> Arg {
                let to_arg: fn(&$t) -> Arg = $to_arg;
                to_arg(self)
            }
            #[inline(always)]
            fn note_float16(param: &&$lent, name: &'static str, float16: &mut Float16Use) {
                let note: fn(&$lent, &'static str, &mut Float16Use) = $note;
                note(param, name, float16);
            }
            fn widen(param: &$lent) -> Result<$t> {
                let widen: fn(&$lent) -> Result<$t> = $widen;
                widen(param)
            }
        }
    };
}

from_arg_ref!(Tensor, Tensor, Tensor, "a tensor", [Arg::Tensor(t) => t, Arg::Scalar(s) => Tensor::scalar(s)], |t| Arg::Tensor(t.clone()), |t, name, float16| float16.note_operand(name, t.dtype()), f16::widen);
from_arg_ref!(Operand, Operand, Operand, "a tensor or a number", [Arg::Tensor(t) => Operand::Tensor(t), Arg::Scalar(s) => Operand::Scalar(s)], |operand| match operand {
    Operand::Tensor(tensor) => Arg::Tensor(tensor.clone()),
    Operand::Scalar(scalar) => Arg::Scalar(*scalar),
}, |operand, name, float16| if let Operand::Tensor(t) = operand { float16.note_operand(name, t.dtype()) }, |operand| Ok(match operand {
    Operand::Tensor(t) => Operand::Tensor(f16::widen(t)?),
    Operand::Scalar(s) => Operand::Scalar(*s),
}));
/// A sequence of tensors, as the first parameter of an operation.
pub type Tensors = Vec<Tensor>;

from_arg_ref!(Tensors, [Tensor], Tensors, "a sequence of tensors", [Arg::Tensors(t) => t], |t| Arg::Tensors(t.clone()), |all, name, float16| all.iter().for_each(|t| float16.note_operand(name, t.dtype())), |all| all.iter().map(f16::widen).collect());

/// Tensors passed as separate arguments (`*tensors`), as the first parameter of an operation.
pub struct Variadic(Vec<Tensor>);

from_arg_ref!(Variadic, [Tensor], Variadic, "tensors", [Arg::Tensors(t) => Variadic(t)], |t| Arg::Tensors(t.0.clone()), |all, name, float16| all.iter().for_each(|t| float16.note_operand(name, t.dtype())), |all| Ok(Variadic(all.iter().map(f16::widen).collect::<Result<_>>()?)));

impl std::ops::Deref for Variadic {
    type Target = [Tensor];
    fn deref(&self) -> &[Tensor] {
        &self.0
    }
}

/// A boolean first parameter that does not make the operation a method.
pub struct Condition(Tensor);

from_arg_ref!(Condition, Tensor, Condition, "a tensor", [
    Arg::Tensor(t) => Condition(t),
    Arg::Scalar(s) => Condition(Tensor::scalar(s))
], |t| Arg::Tensor(t.0.clone()), |_, _, _| {}, |t| Ok(Condition(t.clone())));

impl std::ops::Deref for Condition {
    type Target = Tensor;
    fn deref(&self) -> &Tensor {
        &self.0
    }
}

/// A tensor first parameter that does not make the operation a method.
pub struct Input(Tensor);

from_arg_ref!(Input, Tensor, Tensor, "a tensor", [
    Arg::Tensor(t) => Input(t),
    Arg::Scalar(s) => Input(Tensor::scalar(s))
], |t| Arg::Tensor(t.0.clone()), |t, name, float16| float16.note_operand(name, t.dtype()), |t| f16::widen(t).map(Input));

impl std::ops::Deref for Input {
    type Target = Tensor;
    fn deref(&self) -> &Tensor {
        &self.0
    }
}

/// An index expression.
pub type Key = Vec<IndexItem>;

from_arg_ref!(Key, [IndexItem], Index, "an index", [Arg::Index(i) => i], |i| Arg::Index(i.clone()), |_, _, _| {}, |items| Ok(items.to_vec()));

impl<T: FromArg> FromArg for Option<T> {
    type Param<'a>
        = Option<T::Param<'a>>
    where
        T: 'a;
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;
    fn from_arg(arg: Arg, name: &'static str) -> Result<Self> {
        match arg {
            Arg::None | Arg::Missing => Ok(None),
            given => T::from_arg(given, name).map(Some),
        }
    }
    fn as_param(&self) -> Option<T::Param<'_>> {
        self.as_ref().map(|value| value.as_param())
    }
    fn to_arg(&self) -> Arg {
        self.as_ref().map_or(Arg::None, T::to_arg)
    }
    #[inline(always)]
    fn note_float16(param: &Option<T::Param<'_>>, name: &'static str, float16: &mut Float16Use) {
        if let Some(param) = param {
            T::note_float16(param, name, float16);
        }
    }
    fn widen(param: Option<T::Param<'_>>) -> Result<Self> {
        param.map(T::widen).transpose()
    }
}

/// A Rust type that an operation may return.
pub trait IntoOutput: Narrow {
    /// The type the host receives.
    const RETURNS: Returns;
    /// Converts it for the host.
    fn into_output(self) -> Output;
}

impl IntoOutput for Tensor {
    const RETURNS: Returns = Returns::Tensor;
    fn into_output(self) -> Output {
        Output::Tensor(self)
    }
}
impl IntoOutput for Vec<Tensor> {
    const RETURNS: Returns = Returns::List;
    fn into_output(self) -> Output {
        Output::List(self)
    }
}

/// One tensor or a tuple, depending on the arguments.
pub enum OneOrTuple {
    /// One tensor.
    One(Tensor),
    /// A tuple, of any length.
    Tuple(Vec<Tensor>),
}

impl IntoOutput for OneOrTuple {
    const RETURNS: Returns = Returns::OneOrTuple;
    fn into_output(self) -> Output {
        match self {
            OneOrTuple::One(tensor) => Output::Tensor(tensor),
            OneOrTuple::Tuple(tensors) => Output::Tuple(tensors),
        }
    }
}
impl IntoOutput for (Tensor, Tensor) {
    const RETURNS: Returns = Returns::Pair;
    fn into_output(self) -> Output {
        Output::Tuple(vec![self.0, self.1])
    }
}
impl IntoOutput for (Tensor, Tensor, Tensor) {
    const RETURNS: Returns = Returns::Triple;
    fn into_output(self) -> Output {
        Output::Tuple(vec![self.0, self.1, self.2])
    }
}
impl IntoOutput for bool {
    const RETURNS: Returns = Returns::Bool;
    fn into_output(self) -> Output {
        Output::Bool(self)
    }
}

/// Takes argument `i`, or its default if it is missing.
pub fn take_arg<T: FromArg>(
    args: &mut [Arg],
    i: usize,
    name: &'static str,
    default: Option<fn() -> T>,
) -> Result<T> {
    match (std::mem::replace(&mut args[i], Arg::Missing), default) {
        (Arg::Missing, Some(default)) => Ok(default()),
        (arg, _) => T::from_arg(arg, name),
    }
}
