//! What a declaration of an operation consists of, and the macro that turns one into its faces.
//!
//! Owns: `OpDecl` (name, signature, documentation, entry point), the dynamic arguments a host language
//! passes through it, and `operations!`, which expands one declaration into the Rust function, the
//! `Tensor` method and the registry row. Never computes and never knows a host language.
//! Invariant: a name, its defaults and its documentation are written once, in the declaration.

use smallvec::SmallVec;

use crate::dtype::{DType, Weak};
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// A number of the host language. It promotes weakly and is a constant of the graph.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
}

impl Scalar {
    /// Its kind, for promotion.
    pub fn weak(self) -> Weak {
        match self {
            Scalar::Bool(_) => Weak::Bool,
            Scalar::Int(_) => Weak::Int,
            Scalar::Float(_) => Weak::Float,
        }
    }

    /// Its value as a float64.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => b as u8 as f64,
            Scalar::Int(i) => i as f64,
            Scalar::Float(f) => f,
        }
    }
}

/// A tensor, or a number that acts as one.
#[derive(Clone)]
pub enum Operand {
    /// A tensor.
    Tensor(Tensor),
    /// A number of the host language.
    Scalar(Scalar),
}

/// A set of axes: all of them, or those named.
#[derive(Clone, Default, Debug)]
pub enum Axes {
    /// Every axis.
    #[default]
    All,
    /// These axes, negative ones counted from the end.
    Named(SmallVec<[isize; 4]>),
}

impl Axes {
    /// The named axes, or `None` for all.
    pub fn named(&self) -> Option<&[isize]> {
        match self {
            Axes::All => None,
            Axes::Named(axes) => Some(axes),
        }
    }
}

impl From<isize> for Axes {
    fn from(axis: isize) -> Axes {
        Axes::Named(SmallVec::from_slice(&[axis]))
    }
}

impl<const N: usize> From<[isize; N]> for Axes {
    fn from(axes: [isize; N]) -> Axes {
        Axes::Named(SmallVec::from_slice(&axes))
    }
}

/// One part of an index expression `t[…]`.
#[derive(Clone)]
pub enum IndexItem {
    /// An integer: selects and drops the axis.
    Int(i64),
    /// `start:stop:step`, absent parts as in Python.
    Slice(Option<i64>, Option<i64>, Option<i64>),
    /// `None`: a new axis of size 1.
    NewAxis,
    /// `...`
    Ellipsis,
    /// An integer or boolean array.
    Array(Tensor),
}

/// A list of integers: a shape, a permutation, repeats.
pub type Ints = SmallVec<[i64; 4]>;

/// An argument as the host language passes it.
#[derive(Clone)]
pub enum Arg {
    /// Not given: the default applies.
    Missing,
    /// The host's null, given explicitly.
    None,
    /// A tensor.
    Tensor(Tensor),
    /// A number.
    Scalar(Scalar),
    /// Several integers.
    Ints(Ints),
    /// Several tensors.
    Tensors(Vec<Tensor>),
    /// A string.
    Str(String),
    /// A dtype.
    DType(DType),
    /// An index expression.
    Index(Vec<IndexItem>),
}

/// What a parameter accepts; the host converts to it before the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A tensor or anything that converts to one.
    Tensor,
    /// A tensor, or a number that stays weak.
    Operand,
    /// A sequence of tensors.
    Tensors,
    /// One integer.
    Int,
    /// None, an integer or a tuple of integers.
    Axes,
    /// A shape or a list of integers; as a method or trailing parameter also given as several arguments.
    Ints,
    /// A boolean.
    Bool,
    /// A float.
    Float,
    /// A string.
    Str,
    /// A dtype.
    DType,
    /// An index expression.
    Index,
}

/// One parameter of an operation.
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it accepts.
    pub kind: Kind,
    /// Whether the host's null is a value of its own.
    pub optional: bool,
    /// Its default as the declaration spells it.
    pub default: Option<&'static str>,
}

/// What an operation returns to the host.
pub enum Output {
    /// One tensor.
    Tensor(Tensor),
    /// A tuple of tensors.
    Tuple(Vec<Tensor>),
    /// A list of tensors.
    List(Vec<Tensor>),
    /// A boolean.
    Bool(bool),
}

/// One operation as the registry knows it.
pub struct OpDecl {
    /// The name of the function and of the method.
    pub name: &'static str,
    /// Other names of the same thing.
    pub aliases: &'static [&'static str],
    /// The family (source file) it belongs to.
    pub family: &'static str,
    /// Its documentation.
    pub doc: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// NumPy functions with the same meaning (`"tanh"`, `"linalg.norm"`).
    pub numpy: &'static [&'static str],
    /// Whether it has a derivative.
    pub differentiable: bool,
    /// Calls it with one argument per parameter; takes the arguments out of the slice.
    pub call: fn(&mut [Arg]) -> Result<Output>,
    /// The shortcut for one tensor and all defaults.
    pub unary: Option<fn(&Tensor) -> Result<Tensor>>,
}

/// A Rust type that a parameter of an operation can have.
pub trait FromArg: Sized {
    /// How the Rust function receives it.
    type Param<'a>
    where
        Self: 'a;
    /// What the host may pass.
    const KIND: Kind;
    /// Whether the host's null is a value of its own.
    const OPTIONAL: bool = false;
    /// Converts; `name` is the parameter's, for the message.
    fn from_arg(arg: Arg, name: &'static str) -> Result<Self>;
    /// Lends it to the Rust function.
    fn lend(&self) -> Self::Param<'_>;
}

/// The error of an argument whose type no conversion accepts.
#[cold]
pub fn wrong_type(name: &'static str, want: &'static str) -> Box<Error> {
    Box::new(Error::ArgumentType {
        op: "arguments".into(),
        what: format!("{name} must be {want}"),
        remedy: format!("pass {want} as {name}"),
    })
}

macro_rules! from_arg {
    ($t:ty, $kind:ident, $want:literal, [$($pattern:pat => $value:expr),+]) => {
        impl FromArg for $t {
            type Param<'a> = $t;
            const KIND: Kind = Kind::$kind;
            fn from_arg(arg: Arg, name: &'static str) -> Result<Self> {
                match arg {
                    $($pattern => Ok($value),)+
                    _ => Err(wrong_type(name, $want)),
                }
            }
            fn lend(&self) -> $t { self.clone() }
        }
    };
}

from_arg!(isize, Int, "an integer", [Arg::Scalar(Scalar::Int(i)) => i as isize, Arg::Scalar(Scalar::Bool(b)) => b as isize]);
from_arg!(f64, Float, "a number", [Arg::Scalar(s) => s.as_f64()]);
from_arg!(bool, Bool, "a boolean", [Arg::Scalar(Scalar::Bool(b)) => b, Arg::Scalar(s) => s.as_f64() != 0.0]);
from_arg!(String, Str, "a string", [Arg::Str(s) => s]);
from_arg!(DType, DType, "a dtype", [Arg::DType(d) => d]);
from_arg!(Scalar, Float, "a number", [Arg::Scalar(s) => s]);
from_arg!(Ints, Ints, "a tuple of integers", [Arg::Ints(i) => i, Arg::Scalar(Scalar::Int(i)) => SmallVec::from_slice(&[i])]);
from_arg!(Axes, Axes, "None, an integer or a tuple of integers", [
    Arg::None => Axes::All,
    Arg::Scalar(Scalar::Int(i)) => Axes::from(i as isize),
    Arg::Ints(i) => Axes::Named(i.iter().map(|&a| a as isize).collect())
]);

macro_rules! from_arg_ref {
    ($t:ty, $lent:ty, $kind:ident, $want:literal, [$($pattern:pat => $value:expr),+]) => {
        impl FromArg for $t {
            type Param<'a> = &'a $lent;
            const KIND: Kind = Kind::$kind;
            fn from_arg(arg: Arg, name: &'static str) -> Result<Self> {
                match arg {
                    $($pattern => Ok($value),)+
                    _ => Err(wrong_type(name, $want)),
                }
            }
            fn lend(&self) -> &$lent { self }
        }
    };
}

from_arg_ref!(Tensor, Tensor, Tensor, "a tensor", [Arg::Tensor(t) => t, Arg::Scalar(s) => Tensor::scalar(s)]);
from_arg_ref!(Operand, Operand, Operand, "a tensor or a number", [Arg::Tensor(t) => Operand::Tensor(t), Arg::Scalar(s) => Operand::Scalar(s)]);
/// Several tensors, as the first parameter of an operation.
pub type Tensors = Vec<Tensor>;

from_arg_ref!(Tensors, [Tensor], Tensors, "a sequence of tensors", [Arg::Tensors(t) => t]);
/// An index expression.
pub type Key = Vec<IndexItem>;

from_arg_ref!(Key, [IndexItem], Index, "an index", [Arg::Index(i) => i]);

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
    fn lend(&self) -> Option<T::Param<'_>> {
        self.as_ref().map(|value| value.lend())
    }
}

/// A Rust type that an operation can return.
pub trait IntoOutput {
    /// Wraps it for the host.
    fn into_output(self) -> Output;
}

impl IntoOutput for Tensor {
    fn into_output(self) -> Output {
        Output::Tensor(self)
    }
}
impl IntoOutput for Vec<Tensor> {
    fn into_output(self) -> Output {
        Output::List(self)
    }
}
impl IntoOutput for (Tensor, Tensor) {
    fn into_output(self) -> Output {
        Output::Tuple(vec![self.0, self.1])
    }
}
impl IntoOutput for (Tensor, Tensor, Tensor) {
    fn into_output(self) -> Output {
        Output::Tuple(vec![self.0, self.1, self.2])
    }
}
impl IntoOutput for bool {
    fn into_output(self) -> Output {
        Output::Bool(self)
    }
}

/// Takes argument `i`, or its default when it was not given.
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

/// Declares a family of structured operations.
///
/// One entry is a documented function whose parameters have `FromArg` types and, optionally, defaults;
/// it becomes a function, a method of `Tensor` (when marked `method`) and a row of `DECLS`.
#[macro_export]
#[doc(hidden)]
macro_rules! operations {
    (family $family:literal; $(
        $(#[doc = $doc:literal])*
        $([$($key:ident $(($($value:literal),*))?),* $(,)?])?
        fn $name:ident($first:ident: $first_ty:ident $(, $arg:ident: $ty:ty $(= $default:expr)?)* $(,)?) -> $ret:ty $body:block
    )*) => {
        $(
            $(#[doc = $doc])*
            pub fn $name($first: <$first_ty as $crate::ops::declare::FromArg>::Param<'_> $(, $arg: <$ty as $crate::ops::declare::FromArg>::Param<'_>)*) -> $crate::error::Result<$ret> $body
            $crate::decl_method!($first_ty [$($doc)*] $name($($arg: $ty),*) -> $ret);
        )*
        /// The registry rows of this family.
        pub static DECLS: &[$crate::ops::declare::OpDecl] = &[$(
            $crate::ops::declare::OpDecl {
                name: $crate::ops::declare::python_name(stringify!($name)),
                aliases: $crate::decl_list!(aliases $($($key $(($($value),*))?,)*)?),
                family: $family,
                doc: concat!($($doc, "\n",)* ""),
                params: &[
                    $crate::ops::declare::Param {
                        name: stringify!($first),
                        kind: <$first_ty as $crate::ops::declare::FromArg>::KIND,
                        optional: <$first_ty as $crate::ops::declare::FromArg>::OPTIONAL,
                        default: None,
                    }
                    $(, $crate::ops::declare::Param {
                        name: stringify!($arg),
                        kind: <$ty as $crate::ops::declare::FromArg>::KIND,
                        optional: <$ty as $crate::ops::declare::FromArg>::OPTIONAL,
                        default: $crate::decl_default!($($default)?),
                    })*
                ],
                numpy: $crate::decl_list!(numpy $($($key $(($($value),*))?,)*)?),
                differentiable: $crate::decl_differentiable!($($($key,)*)?),
                call: {
                    fn call(args: &mut [$crate::ops::declare::Arg]) -> $crate::error::Result<$crate::ops::declare::Output> {
                        use $crate::ops::declare::{FromArg, IntoOutput, take_arg};
                        let $first: $first_ty = take_arg(args, 0, stringify!($first), None)?;
                        let mut _next = 1;
                        $(
                            let $arg: $ty = take_arg(args, _next, stringify!($arg), $crate::decl_default_fn!($ty $(, $default)?))?;
                            _next += 1;
                        )*
                        Ok($name($first.lend() $(, $arg.lend())*)?.into_output())
                    }
                    call
                },
                unary: None,
            }
        ),*];
    };
}

/// The Python spelling of a Rust function name: a trailing underscore avoids a keyword (`where_`).
pub const fn python_name(name: &'static str) -> &'static str {
    let bytes = name.as_bytes();
    if bytes[bytes.len() - 1] == b'_' {
        match std::str::from_utf8(bytes.split_at(bytes.len() - 1).0) {
            Ok(short) => short,
            Err(_) => name,
        }
    } else {
        name
    }
}

/// The method of `Tensor` for an operation whose first parameter is one.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_method {
    (Tensor [$($doc:literal)*] $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty) => {
        impl $crate::tensor::Tensor {
            $(#[doc = $doc])*
            pub fn $name(&self $(, $arg: <$ty as $crate::ops::declare::FromArg>::Param<'_>)*) -> $crate::error::Result<$ret> {
                $name(self $(, $arg)*)
            }
        }
    };
    ($other:ident $($rest:tt)*) => {};
}

/// The values of one key of a declaration's option list: `[numpy("sum"), aliases("cat")]`.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_list {
    (numpy) => { &[] };
    (aliases) => { &[] };
    (numpy numpy($($value:literal),*), $($rest:tt)*) => { &[$($value),*] };
    (aliases aliases($($value:literal),*), $($rest:tt)*) => { &[$($value),*] };
    ($want:ident $key:ident $(($($value:literal),*))?, $($rest:tt)*) => { $crate::decl_list!($want $($rest)*) };
}

/// Whether a declaration carries no `constant` mark.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_differentiable {
    () => { true };
    (constant, $($rest:ident,)*) => { false };
    ($key:ident, $($rest:ident,)*) => { $crate::decl_differentiable!($($rest,)*) };
}

/// The text of a default, if there is one.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_default {
    () => { None };
    ($default:expr) => { Some(stringify!($default)) };
}

/// The maker of a default, if there is one.
#[macro_export]
#[doc(hidden)]
macro_rules! decl_default_fn {
    ($ty:ty) => { None };
    ($ty:ty, $default:expr) => { Some({ fn default() -> $ty { $default } default }) };
}
