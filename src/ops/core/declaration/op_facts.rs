//! `Facts`: what a declaration says beyond the signature (aliases, NumPy names, keywords, …), one `const fn` per fact.
//!
//! Invariant: callers that work from declarations (bindings, NumPy dispatch) need no list of operation names.

use crate::ops::core::elementwise::Elementwise;

/// A keyword that NumPy and PyTorch understand differently, and which is therefore refused.
#[derive(Debug)]
pub struct Ambiguous {
    /// The keyword.
    pub keyword: &'static str,
    /// Keywords that make the meaning clear.
    pub unless: &'static [&'static str],
    /// How the libraries differ.
    pub what: &'static str,
    /// What to write instead.
    pub remedy: &'static str,
}

/// The facts of an operation. Built by the declaration macros: `[numpy("sum"), positional(2)]` is
/// `Facts::NEW.numpy(&["sum"]).positional(&[2])`.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Other names of the operation.
    pub aliases: &'static [&'static str],
    /// NumPy functions with this meaning (`"tanh"`, `"linalg.norm"`).
    pub numpy: &'static [&'static str],
    /// The namespaces of the function: `"linalg"`, `"nn.functional"`; `""` or no entry for the root.
    pub namespaces: &'static [&'static str],
    /// The name of its function in `_core`, where the public function of its own name is written in Python.
    pub core_function: Option<&'static str>,
    /// Whether tensors have no method of it: what they have under its name is written in Python, or nothing.
    pub no_method: bool,
    /// Whether it has no derivative.
    pub constant: bool,
    /// Whether there is an in-place method.
    pub in_place: bool,
    /// Other names of the in-place method.
    pub in_place_aliases: &'static [&'static str],
    /// How many arguments may be positional; all if `None`.
    pub positional: Option<usize>,
    /// Whether the name of the result may follow as a positional argument.
    pub named: bool,
    /// Other names of parameters: `(theirs, ours)`.
    pub keywords: &'static [(&'static str, &'static str)],
    /// Parameters that hold indices, classes or counts, whose dtype does not take part in promotion.
    pub indices: &'static [&'static str],
    /// Keywords that are accepted and ignored, and the only truth value they may have; `None`: any value.
    pub ignores: &'static [(&'static str, Option<bool>)],
    /// A keyword whose number multiplies the second operand (PyTorch's `alpha`).
    pub factor: Option<&'static str>,
    /// A keyword that two libraries understand differently.
    pub ambiguous: Option<&'static Ambiguous>,
    /// Whether an empty tuple of axes means all axes, as in PyTorch.
    pub no_axes_are_all: bool,
    /// Whether it broadcasts as NumPy's ufuncs do, so that the result is broadcast to a larger `out`.
    pub ufunc: bool,
    /// The binary operation that this one reduces with.
    pub fold: Option<&'static str>,
    /// The identity element of the reduction, for elements that `where=` excludes.
    pub neutral: Option<i64>,
    /// The binary operation whose cumulative scan this is.
    pub scan: Option<&'static str>,
    /// Whether tensors have it as an attribute, which the class declares itself, instead of a method.
    pub attribute: bool,
    /// Whether integers compute in float64, although NumPy's ufuncs take the smallest float that holds them.
    pub float64: bool,
    /// Whether booleans are refused, as NumPy has no such ufunc loop.
    pub no_bool: bool,
    /// Whether it is a comparison: its result depends only on the order of two operands.
    pub compares: bool,
    /// Whether float16 operands are computed in float32, and the results rounded once.
    pub float32: bool,
    /// The element-wise loop for floats of one dtype: operands first, then parameters.
    pub elementwise: Option<&'static Elementwise>,
    /// Whether a 0-d result is memory, like NumPy's 0-d arrays; otherwise it is a value, like NumPy's scalars.
    pub memory: bool,
    /// The field names of its named tuple of results, separated by spaces.
    pub fields: Option<&'static str>,
}

/// How element-wise operations promote integers for which they have no loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntegerPromotion {
    /// To the smallest float that holds them, as NumPy's ufuncs do.
    SmallestFloat,
    /// To float64.
    Float64,
    /// Not at all: all but booleans have a loop.
    NotBool,
}

/// Whether a name is qualified by a module.
const fn has_dot(name: &str) -> bool {
    let (bytes, mut i) = (name.as_bytes(), 0);
    while i < bytes.len() {
        if bytes[i] == b'.' {
            return true;
        }
        i += 1;
    }
    false
}

/// The first of the arguments that a declaration gives to a fact.
const fn first<T: Copy>(given: &'static [T]) -> Option<T> {
    match given {
        [value, ..] => Some(*value),
        [] => None,
    }
}

impl Facts {
    /// No facts.
    pub const NEW: Facts = Facts {
        aliases: &[],
        numpy: &[],
        namespaces: &[],
        core_function: None,
        no_method: false,
        constant: false,
        in_place: false,
        in_place_aliases: &[],
        positional: None,
        named: false,
        keywords: &[],
        indices: &[],
        ignores: &[],
        factor: None,
        ambiguous: None,
        no_axes_are_all: false,
        ufunc: false,
        fold: None,
        neutral: None,
        scan: None,
        attribute: false,
        float64: false,
        no_bool: false,
        compares: false,
        float32: false,
        elementwise: None,
        memory: false,
        fields: None,
    };

    /// Sets [`aliases`](Self::aliases).
    pub const fn aliases(self, names: &'static [&'static str]) -> Facts {
        Facts { aliases: names, ..self }
    }

    /// Sets [`numpy`](Self::numpy).
    pub const fn numpy(self, names: &'static [&'static str]) -> Facts {
        Facts { numpy: names, ..self }
    }

    /// Sets [`namespaces`](Self::namespaces).
    pub const fn namespace(self, spaces: &'static [&'static str]) -> Facts {
        Facts { namespaces: spaces, ..self }
    }

    /// Sets [`core_function`](Self::core_function).
    pub const fn core_function(self, name: &'static [&'static str]) -> Facts {
        Facts { core_function: first(name), ..self }
    }

    /// Sets [`no_method`](Self::no_method).
    pub const fn no_method(self, _: &'static [&'static str]) -> Facts {
        Facts { no_method: true, ..self }
    }

    /// Sets [`attribute`](Self::attribute).
    pub const fn attribute(self, _: &'static [&'static str]) -> Facts {
        Facts { attribute: true, ..self }
    }

    /// Sets [`constant`](Self::constant).
    pub const fn constant(self, _: &'static [&'static str]) -> Facts {
        Facts { constant: true, ..self }
    }

    /// Sets [`in_place`](Self::in_place) and the other names of the method.
    pub const fn in_place(self, aliases: &'static [&'static str]) -> Facts {
        Facts { in_place: true, in_place_aliases: aliases, ..self }
    }

    /// Sets [`positional`](Self::positional).
    pub const fn positional(self, count: &'static [usize]) -> Facts {
        Facts { positional: first(count), ..self }
    }

    /// Sets [`named`](Self::named).
    pub const fn named(self, _: &'static [&'static str]) -> Facts {
        Facts { named: true, ..self }
    }

    /// Sets [`keywords`](Self::keywords).
    pub const fn keywords(self, pairs: &'static [(&'static str, &'static str)]) -> Facts {
        Facts { keywords: pairs, ..self }
    }

    /// Sets [`indices`](Self::indices).
    pub const fn indices(self, names: &'static [&'static str]) -> Facts {
        Facts { indices: names, ..self }
    }

    /// Sets [`ignores`](Self::ignores).
    pub const fn ignores(self, words: &'static [(&'static str, Option<bool>)]) -> Facts {
        Facts { ignores: words, ..self }
    }

    /// Sets [`factor`](Self::factor).
    pub const fn factor(self, word: &'static [&'static str]) -> Facts {
        Facts { factor: first(word), ..self }
    }

    /// Sets [`ambiguous`](Self::ambiguous).
    pub const fn ambiguous(self, word: &'static [&'static Ambiguous]) -> Facts {
        Facts { ambiguous: first(word), ..self }
    }

    /// Sets [`no_axes_are_all`](Self::no_axes_are_all).
    pub const fn no_axes_are_all(self, _: &'static [&'static str]) -> Facts {
        Facts { no_axes_are_all: true, ..self }
    }

    /// Sets [`ufunc`](Self::ufunc).
    pub const fn ufunc(self, _: &'static [&'static str]) -> Facts {
        Facts { ufunc: true, ..self }
    }

    /// Sets [`fold`](Self::fold).
    pub const fn fold(self, operation: &'static [&'static str]) -> Facts {
        Facts { fold: first(operation), ..self }
    }

    /// Sets [`neutral`](Self::neutral).
    pub const fn neutral(self, value: &'static [i64]) -> Facts {
        Facts { neutral: first(value), ..self }
    }

    /// Sets [`scan`](Self::scan).
    pub const fn scan(self, operation: &'static [&'static str]) -> Facts {
        Facts { scan: first(operation), ..self }
    }

    /// Sets [`float64`](Self::float64).
    pub const fn float64(self, _: &'static [&'static str]) -> Facts {
        Facts { float64: true, ..self }
    }

    /// Sets [`no_bool`](Self::no_bool).
    pub const fn no_bool(self, _: &'static [&'static str]) -> Facts {
        Facts { no_bool: true, ..self }
    }

    /// Sets [`compares`](Self::compares).
    pub const fn compares(self, _: &'static [&'static str]) -> Facts {
        Facts { compares: true, ..self }
    }

    /// Sets [`float32`](Self::float32).
    pub const fn float32(self, _: &'static [&'static str]) -> Facts {
        Facts { float32: true, ..self }
    }

    /// How integers without a loop promote: as NumPy's ufuncs, or to float64.
    pub const fn integer_promotion(&self) -> IntegerPromotion {
        let (mut i, mut ufunc) = (0, false);
        while i < self.numpy.len() {
            ufunc |= !has_dot(self.numpy[i]);
            i += 1;
        }
        match () {
            () if self.no_bool => IntegerPromotion::NotBool,
            () if ufunc && !self.float64 => IntegerPromotion::SmallestFloat,
            () => IntegerPromotion::Float64,
        }
    }

    /// Sets [`memory`](Self::memory).
    pub const fn memory(self, _: &'static [&'static str]) -> Facts {
        Facts { memory: true, ..self }
    }

    /// Sets [`fields`](Self::fields).
    pub const fn fields(self, names: &'static [&'static str]) -> Facts {
        Facts { fields: first(names), ..self }
    }

    /// Sets [`elementwise`](Self::elementwise).
    pub const fn elementwise(self, operation: &'static [&'static Elementwise]) -> Facts {
        Facts { elementwise: first(operation), ..self }
    }
}
