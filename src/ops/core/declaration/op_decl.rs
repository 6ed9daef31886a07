//! What the registry knows of an operation, and what a host language passes to it.
//!
//! Owns: `OpDecl` (name, signature, documentation, entry point) and the dynamic arguments and results.
//! Never computes and never knows a host language.
//! Invariant: a row is made by a declaration macro, so nothing in it is written twice.

use smallvec::SmallVec;

use crate::dtype::{DType, WeakScalar};
use crate::error::Result;
use crate::ops::core::elementwise::Elementwise;
use crate::ops::core::op_facts::Facts;
use crate::tensor::Tensor;

/// A number of the host language. It promotes weakly and is a constant of the graph.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer beyond int64.
    Unsigned(u64),
    /// An integer beyond 64 bits, as the nearest float.
    Huge(f64),
    /// A float.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
}

impl Scalar {
    /// Its kind, for promotion.
    pub fn weak(self) -> WeakScalar {
        match self {
            Scalar::Bool(_) => WeakScalar::Bool,
            Scalar::Int(_) | Scalar::Unsigned(_) | Scalar::Huge(_) => WeakScalar::Int,
            Scalar::Float(_) => WeakScalar::Float,
            Scalar::Complex(..) => WeakScalar::Complex,
        }
    }

    /// Its value as a float64; NaN for a complex number, which has none.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => b as u8 as f64,
            Scalar::Int(i) => i as f64,
            Scalar::Unsigned(u) => u as f64,
            Scalar::Float(f) | Scalar::Huge(f) => f,
            Scalar::Complex(..) => f64::NAN,
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
    Variadic,
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
    /// A shape, given as one is, or a dtype.
    Regarded,
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

impl Kind {
    /// Whether an argument of this kind is what the operation computes with, not how it does so.
    pub const fn is_input(self) -> bool {
        matches!(
            self,
            Kind::Tensor
                | Kind::Operand
                | Kind::Tensors
                | Kind::Variadic
                | Kind::Condition
                | Kind::Index
        )
    }
}

/// One parameter of an operation.
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it accepts.
    pub kind: Kind,
    /// Whether the host's null is a value of its own.
    pub optional: bool,
    /// Makes its default, if it has one.
    pub default: Option<fn() -> Arg>,
}

impl Param {
    /// Whether it is an operand that may be left out: a bound, a value at the border.
    pub const fn is_limit(&self) -> bool {
        self.optional && matches!(self.kind, Kind::Operand)
    }

    /// Whether it may be left out.
    pub fn may_miss(&self) -> bool {
        self.default.is_some() || self.optional
    }
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

/// A way to call an operation without its list of arguments.
pub enum Shortcut {
    /// There is none.
    None,
    /// An element-wise operation of one operand, and the defaults of its parameters.
    Unary(&'static Elementwise, &'static [f64]),
    /// An element-wise operation of two operands.
    Binary(&'static Elementwise),
    /// One tensor and all defaults, of any other operation.
    Plain(fn(&Tensor) -> Result<Output>),
}

/// One operation as the registry knows it.
pub struct OpDecl {
    /// The name of the function and of the method.
    pub name: &'static str,
    /// The family it belongs to.
    pub family: &'static str,
    /// Its documentation.
    pub doc: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Whether some parameter says how to compute, so that a call has attributes.
    pub has_attributes: bool,
    /// What it returns.
    pub returns: Returns,
    /// Whether it has a derivative.
    pub differentiable: bool,
    /// The name of the method that changes its tensor in place (`"exp_"`), if there is one.
    pub in_place: Option<&'static str>,
    /// What else the declaration says.
    pub facts: Facts,
    /// Calls it with one argument per parameter; takes the arguments out of the slice.
    pub call: fn(&mut [Arg]) -> Result<Output>,
    /// The same for the commonest calls.
    pub shortcut: Shortcut,
}

/// What both libraries call the parameters that choose axes: `(ours, theirs)`.
const AXES: [(&str, &str); 7] = [
    ("axis", "dim"),
    ("axes", "dim"),
    ("axis", "dims"),
    ("axes", "dims"),
    ("keepdims", "keepdim"),
    ("axis1", "dim1"),
    ("axis2", "dim2"),
];

impl OpDecl {
    /// Whether the operation is a function of the package itself.
    pub fn is_top_level(&self) -> bool {
        self.facts.namespaces.is_empty() || self.facts.namespaces.contains(&"")
    }

    /// Whether the operation is a method and no function: the package has another function of the name.
    pub fn is_method_only(&self) -> bool {
        self.facts.namespaces == ["Tensor"]
    }

    /// Whether its first parameter is a tensor that has the operation as a method.
    pub fn takes_tensor(&self) -> bool {
        let first = self.params.first().map(|p| p.kind);
        matches!(first, Some(Kind::Tensor | Kind::Operand)) && !self.facts.attribute
    }

    /// How many arguments may be given by position.
    pub fn positional(&self) -> usize {
        self.facts.positional.unwrap_or(self.params.len())
    }

    /// The parameter that takes all integers or tensors that follow by position, one argument each.
    pub fn spreads(&self) -> Option<usize> {
        let last = self.positional().checked_sub(1)?;
        let takes = match self.params.get(last)?.kind {
            Kind::Ints | Kind::Regarded => true,
            // Behind axes another number means a truth value to some, so it does not where one may follow.
            Kind::Axes => self.facts.positional.is_none(),
            _ => false,
        };
        (takes && last > 0).then_some(last)
    }

    /// The parameter that a keyword means: its own name, or another one of it.
    pub fn parameter(&self, key: &str) -> Option<usize> {
        let position = |name: &str| self.params.iter().position(|p| p.name == name);
        let said = || self.facts.keywords.iter().filter(|(theirs, _)| *theirs == key);
        let axes = || AXES.iter().filter(|(_, theirs)| *theirs == key);
        position(key)
            .or_else(|| said().find_map(|(_, ours)| position(ours)))
            .or_else(|| axes().find_map(|(ours, _)| position(ours)))
            .or(match key {
                "input" | "self" => Some(0),
                "other" if self.params.len() == 2 => Some(1),
                _ => None,
            })
    }
}

/// Whether some parameter is an attribute of the call.
pub const fn has_attributes(params: &[Param]) -> bool {
    let mut i = 0;
    while i < params.len() {
        if !params[i].kind.is_input() || params[i].is_limit() {
            return true;
        }
        i += 1;
    }
    false
}

/// The name of the method that changes its tensor in place, where the facts ask for one and the result can take the
/// place of the first operand.
pub const fn in_place(
    facts: &Facts,
    params: &[Param],
    returns: Returns,
    name: &'static str,
) -> Option<&'static str> {
    let fits = matches!(params, [Param { kind: Kind::Tensor | Kind::Operand, .. }, ..]);
    let fits = fits && matches!(returns, Returns::Tensor);
    if facts.in_place && fits { Some(name) } else { None }
}
