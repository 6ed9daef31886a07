//! What the registry knows of an operation, and what a host language passes to it.
//!
//! Owns: `OpDecl` (name, signature, documentation, entry point) and the dynamic arguments and results.
//! Never computes and never knows a host language.
//! Invariant: a row is made by a declaration macro, so nothing in it is written twice.

use smallvec::SmallVec;

use crate::dtype::{DType, Weak};
use crate::error::Result;
use crate::ops::core::elementwise::Elementwise;
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

/// Integers in one of two depths: a single one for all, or a list per place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Nested {
    /// One integer.
    One(i64),
    /// A list of integers each; an integer in such a place is a list of one.
    Each(Vec<Ints>),
}

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
    /// One integer or several lists of them.
    Nested(Nested),
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
    /// A sequence of tensors; as the last parameter also given as several arguments.
    Tensors,
    /// All arguments given by position, each a tensor.
    Several,
    /// A tensor of truth values that is no method's subject.
    Condition,
    /// One integer.
    Int,
    /// None, an integer or a tuple of integers.
    Axes,
    /// A shape or a list of integers; as a method or trailing parameter also given as several arguments.
    Ints,
    /// One integer, or a sequence of integers and sequences of integers.
    Nested,
    /// An integer, several of them, or the name of a rule that gives them.
    Padding,
    /// A boolean.
    Bool,
    /// A float.
    Float,
    /// A string.
    Str,
    /// A number or the name of one: the order of a norm.
    Order,
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

/// The types of what an operation returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Returns {
    /// One tensor.
    Tensor,
    /// A tuple of two tensors.
    Pair,
    /// A tuple of three tensors.
    Triple,
    /// A list of tensors.
    List,
    /// One tensor or a tuple of them, as the arguments ask.
    OneOrTuple,
    /// A boolean.
    Bool,
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
    /// What it returns.
    pub returns: Returns,
    /// NumPy functions with the same meaning (`"tanh"`, `"linalg.norm"`).
    pub numpy: &'static [&'static str],
    /// Where the function lives: `"linalg"`, `"nn.functional"`, `""` for the top level, which no entry means too.
    pub namespaces: &'static [&'static str],
    /// Whether it has a derivative.
    pub differentiable: bool,
    /// Calls it with one argument per parameter; takes the arguments out of the slice.
    pub call: fn(&mut [Arg]) -> Result<Output>,
    /// The shortcut for one tensor and all defaults, of an element-wise operation.
    pub unary: Option<fn(&Tensor) -> Result<Tensor>>,
    /// The same for any other operation.
    pub plain: Option<fn(&Tensor) -> Result<Output>>,
    /// The operation itself, if it is element-wise of one operand and no parameters.
    pub alone: Option<&'static Elementwise>,
    /// The operation itself, if it is element-wise of two operands.
    pub binary: Option<&'static Elementwise>,
}

impl OpDecl {
    /// Whether the operation is a function of the package itself.
    pub fn is_top_level(&self) -> bool {
        self.namespaces.is_empty() || self.namespaces.contains(&"")
    }
}
