//! `OpDecl`, the registry row (operator schema) of an operation, and the dynamic arguments and results of calls.
//!
//! Invariant: rows are made by the declaration macros only, so nothing in them is written twice.

use smallvec::SmallVec;

use crate::dtype::{DType, WeakScalar};
use crate::error::Result;
use crate::ops::core::elementwise::Elementwise;
use crate::ops::core::op_facts::Facts;
use crate::tensor::Tensor;

/// A number of the host language. It promotes weakly and is a constant in the graph.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer outside int64 that fits uint64.
    Unsigned(u64),
    /// An integer that fits no 64-bit type, as the nearest float.
    Huge(f64),
    /// A float.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
}

impl Scalar {
    /// Its kind for weak promotion.
    pub fn weak(self) -> WeakScalar {
        match self {
            Scalar::Bool(_) => WeakScalar::Bool,
            Scalar::Int(_) | Scalar::Unsigned(_) | Scalar::Huge(_) => WeakScalar::Int,
            Scalar::Float(_) => WeakScalar::Float,
            Scalar::Complex(..) => WeakScalar::Complex,
        }
    }

    /// Its value as a float64; NaN for complex numbers.
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

/// A set of axes: all, or those listed.
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

/// One item of an index expression `t[…]`.
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

/// An integer, or a list of integers per position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Nested {
    /// One integer for all positions.
    One(i64),
    /// A list per position; a single integer is a list of one.
    Each(Vec<Ints>),
}

/// An argument as the host language passes it.
#[derive(Clone)]
pub enum Arg {
    /// Not given; the default applies.
    Missing,
    /// The host's null, given explicitly.
    None,
    /// A tensor.
    Tensor(Tensor),
    /// A number.
    Scalar(Scalar),
    /// Several integers.
    Ints(Ints),
    /// One integer, or several lists of them.
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

/// The kind of a parameter; the host converts its argument accordingly before the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A tensor, or anything that converts to one.
    Tensor,
    /// A tensor, or a number, which promotes weakly.
    Operand,
    /// A sequence of tensors; as the last parameter it may also be given as several arguments.
    Tensors,
    /// All positional arguments, each a tensor.
    Variadic,
    /// A boolean tensor that does not make the operation a method.
    Condition,
    /// One integer.
    Int,
    /// None, an integer or a tuple of integers.
    Axes,
    /// A shape or a list of integers; in a method, or as the last parameter, it may also be given as several arguments.
    Ints,
    /// One integer, or a sequence of integers and sequences of integers.
    Nested,
    /// An integer, several integers, or a named mode.
    Padding,
    /// A shape or a dtype.
    ShapeOrDType,
    /// A boolean.
    Bool,
    /// A float.
    Float,
    /// A string.
    Str,
    /// A number or a name: the order of a norm.
    Order,
    /// A dtype.
    DType,
    /// An index expression.
    Index,
}

impl Kind {
    /// Whether it is an operand, rather than an attribute of the call.
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
    /// Whether the host's null is a valid value.
    pub optional: bool,
    /// Makes the default, if there is one.
    pub default: Option<fn() -> Arg>,
}

impl Param {
    /// Whether it is an operand that may be omitted, as a bound of `clip`.
    pub const fn is_optional_operand(&self) -> bool {
        self.optional && matches!(self.kind, Kind::Operand)
    }

    /// Whether it may be omitted.
    pub fn may_be_omitted(&self) -> bool {
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

/// The return type of an operation.
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
    /// One tensor or a tuple, depending on the arguments.
    OneOrTuple,
    /// A boolean.
    Bool,
}

/// A fast path that calls an operation without an argument list.
pub enum Shortcut {
    /// There is none.
    None,
    /// A unary element-wise operation, with the defaults of its parameters.
    Unary(&'static Elementwise, &'static [f64]),
    /// A binary element-wise operation.
    Binary(&'static Elementwise),
    /// Any other operation, with one tensor and all defaults.
    Plain(fn(&Tensor) -> Result<Output>),
}

/// The declaration of one operation: its registry row.
pub struct OpDecl {
    /// The name of the function and of the method.
    pub name: &'static str,
    /// The family it belongs to.
    pub family: &'static str,
    /// Its documentation.
    pub doc: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Whether a parameter is not an operand, so that its value is an attribute of the node.
    pub has_attributes: bool,
    /// What it returns.
    pub returns: Returns,
    /// Whether it has a derivative.
    pub differentiable: bool,
    /// The name of its in-place method (`"exp_"`), if there is one.
    pub in_place: Option<&'static str>,
    /// Its facts.
    pub facts: Facts,
    /// Calls it with one argument per parameter; takes the arguments out of the slice.
    pub call: fn(&mut [Arg]) -> Result<Output>,
    /// Its fast path for the most common calls.
    pub shortcut: Shortcut,
}

/// NumPy's and PyTorch's names of axis parameters: `(ours, theirs)`.
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
    /// Whether it is a function of the package's root namespace.
    pub fn is_top_level(&self) -> bool {
        self.facts.namespaces.is_empty() || self.facts.namespaces.contains(&"")
    }

    /// Whether it is only a method, because the package has another function of this name.
    pub fn is_method_only(&self) -> bool {
        self.facts.namespaces == ["Tensor"]
    }

    /// The names of its functions in `_core`.
    pub fn functions(&self) -> impl Iterator<Item = &'static str> + use<> {
        let own = self.facts.core_function.unwrap_or(self.name);
        std::iter::once(own).chain(self.facts.aliases.iter().copied())
    }

    /// Whether it is a method of its first parameter.
    pub fn takes_tensor(&self) -> bool {
        let first = self.params.first().map(|p| p.kind);
        let hidden = self.facts.attribute || self.facts.no_method;
        matches!(first, Some(Kind::Tensor | Kind::Operand)) && !hidden
    }

    /// How many arguments may be positional.
    pub fn positional(&self) -> usize {
        self.facts.positional.unwrap_or(self.params.len())
    }

    /// The parameter that collects the remaining positional integers, one argument each.
    pub fn variadic_param(&self) -> Option<usize> {
        let last = self.positional().checked_sub(1)?;
        let takes = match self.params.get(last)?.kind {
            Kind::Ints | Kind::ShapeOrDType => true,
            // After axes, a further number may be meant as `keepdims`, so axes collect only if nothing may follow them.
            Kind::Axes => self.facts.positional.is_none(),
            _ => false,
        };
        (takes && last > 0).then_some(last)
    }

    /// The parameter that a keyword means, by its own or another library's name.
    pub fn parameter(&self, key: &str) -> Option<usize> {
        let position = |name: &str| self.params.iter().position(|p| p.name == name);
        let keywords = || self.facts.keywords.iter().filter(|(theirs, _)| *theirs == key);
        let axes = || AXES.iter().filter(|(_, theirs)| *theirs == key);
        position(key)
            .or_else(|| keywords().find_map(|(_, ours)| position(ours)))
            .or_else(|| axes().find_map(|(ours, _)| position(ours)))
            .or(match key {
                "input" | "self" => Some(0),
                "other" if self.params.len() == 2 => Some(1),
                _ => None,
            })
    }
}

/// Whether some parameter is an attribute of the call rather than an operand.
pub const fn has_attributes(params: &[Param]) -> bool {
    let mut i = 0;
    while i < params.len() {
        if !params[i].kind.is_input() || params[i].is_optional_operand() {
            return true;
        }
        i += 1;
    }
    false
}

/// The name of the in-place method, if the facts ask for one and the result can replace the first operand.
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
