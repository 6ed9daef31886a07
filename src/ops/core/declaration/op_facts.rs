//! What a declaration says of an operation beside its signature.
//!
//! Owns: `Facts` and the words that declarations are written with (`in_place`, `keywords`, `fold`, …), each a `const fn`.
//! Never names an operation: a fact stands in the declaration that it is about.
//! Invariant: whoever calls operations by their declaration (bindings, NumPy's dispatch) needs no list of names.

use crate::ops::core::elementwise::Elementwise;

/// A keyword that is read differently by the two libraries whose habits meet here, and is refused.
#[derive(Debug)]
pub struct Ambiguous {
    /// The keyword.
    pub keyword: &'static str,
    /// Keywords beside which it is clear what is meant.
    pub unless: &'static [&'static str],
    /// What differs.
    pub what: &'static str,
    /// What to write.
    pub remedy: &'static str,
}

/// What a declaration says of an operation. Made by the declaration macros: `[numpy("sum"), positional(2)]` is
/// `Facts::NEW.numpy(&["sum"]).positional(&[2])`.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Other names of the same thing.
    pub aliases: &'static [&'static str],
    /// NumPy functions with the same meaning (`"tanh"`, `"linalg.norm"`).
    pub numpy: &'static [&'static str],
    /// Where the function lives: `"linalg"`, `"nn.functional"`, `""` for the top level, which no entry means too.
    pub namespaces: &'static [&'static str],
    /// Whether it has no derivative.
    pub constant: bool,
    /// Whether there is a method that changes its tensor in place.
    pub in_place: bool,
    /// Other names of that method.
    pub in_place_aliases: &'static [&'static str],
    /// How many arguments may be given by position; all where nothing is said.
    pub positional: Option<usize>,
    /// Whether the name of the result may follow by position.
    pub named: bool,
    /// Other names of parameters: `(theirs, ours)`.
    pub keywords: &'static [(&'static str, &'static str)],
    /// Parameters that hold positions, classes or counts, whose dtype has no part in that of the result.
    pub indices: &'static [&'static str],
    /// Keywords that ask for what happens anyway, and the truth value for which that holds; `None`: any value.
    pub ignores: &'static [(&'static str, Option<bool>)],
    /// A keyword whose number multiplies the second operand.
    pub factor: Option<&'static str>,
    /// A keyword that two libraries read differently.
    pub ambiguous: Option<&'static Ambiguous>,
    /// Whether a reduction takes no axes for all of them, as PyTorch does.
    pub no_axes_are_all: bool,
    /// Whether it broadcasts as NumPy's ufuncs do, so that a larger `out` takes the result repeatedly.
    pub ufunc: bool,
    /// The operation of two operands that this one folds its elements with.
    pub fold: Option<&'static str>,
    /// What an element that takes no part in the fold counts as.
    pub neutral: Option<i64>,
    /// The operation of two operands whose running fold this is.
    pub scan: Option<&'static str>,
    /// Whether the method is an attribute, which the class declares itself.
    pub attribute: bool,
    /// Whether whole numbers are computed in float64, although NumPy's ufuncs take the smallest float that holds them.
    pub float64: bool,
    /// Whether it refuses booleans, for which NumPy has no such ufunc.
    pub no_bool: bool,
    /// Whether it compares, so that its result follows from the order of two operands.
    pub compares: bool,
    /// Whether float16 operands are computed in float32 as a whole, and the results rounded once.
    pub float32: bool,
    /// The loop that computes it where all operands are floats of one dtype: operands first, then parameters.
    pub elementwise: Option<&'static Elementwise>,
    /// Whether a result without axes is memory, as what NumPy gives as a 0-d array; elsewhere it is a value.
    pub memory: bool,
    /// The names of its results, which then are a named tuple; with spaces between them.
    pub fields: Option<&'static str>,
}

/// What element-wise operations make of whole numbers that they have no loop for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WholeNumbers {
    /// The smallest float that holds them, as NumPy's ufuncs do.
    SmallestFloat,
    /// float64.
    Float64,
    /// All but booleans have a loop.
    NotBool,
}

/// Whether a name is that of a module's member.
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

/// The first of a list that a declaration gives for a fact of one value.
const fn first<T: Copy>(given: &'static [T]) -> Option<T> {
    match given {
        [value, ..] => Some(*value),
        [] => None,
    }
}

impl Facts {
    /// Nothing said.
    pub const NEW: Facts = Facts {
        aliases: &[],
        numpy: &[],
        namespaces: &[],
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

    /// Other names of the operation.
    pub const fn aliases(self, names: &'static [&'static str]) -> Facts {
        Facts { aliases: names, ..self }
    }

    /// NumPy's names of it.
    pub const fn numpy(self, names: &'static [&'static str]) -> Facts {
        Facts { numpy: names, ..self }
    }

    /// Where it lives.
    pub const fn namespace(self, spaces: &'static [&'static str]) -> Facts {
        Facts { namespaces: spaces, ..self }
    }

    /// Tensors have an attribute of the name, not a method.
    pub const fn attribute(self, _: &'static [&'static str]) -> Facts {
        Facts { attribute: true, ..self }
    }

    /// It has no derivative.
    pub const fn constant(self, _: &'static [&'static str]) -> Facts {
        Facts { constant: true, ..self }
    }

    /// It has a method that changes its tensor in place, with these names beside its own.
    pub const fn in_place(self, aliases: &'static [&'static str]) -> Facts {
        Facts { in_place: true, in_place_aliases: aliases, ..self }
    }

    /// So many arguments may be given by position.
    pub const fn positional(self, count: &'static [usize]) -> Facts {
        Facts { positional: first(count), ..self }
    }

    /// The name of the result may follow the arguments by position.
    pub const fn named(self, _: &'static [&'static str]) -> Facts {
        Facts { named: true, ..self }
    }

    /// Other names of its parameters.
    pub const fn keywords(self, pairs: &'static [(&'static str, &'static str)]) -> Facts {
        Facts { keywords: pairs, ..self }
    }

    /// Which of its parameters hold positions, classes or counts.
    pub const fn indices(self, names: &'static [&'static str]) -> Facts {
        Facts { indices: names, ..self }
    }

    /// Keywords that change nothing.
    pub const fn ignores(self, words: &'static [(&'static str, Option<bool>)]) -> Facts {
        Facts { ignores: words, ..self }
    }

    /// The keyword of a factor of the second operand.
    pub const fn factor(self, word: &'static [&'static str]) -> Facts {
        Facts { factor: first(word), ..self }
    }

    /// A keyword that is refused.
    pub const fn ambiguous(self, word: &'static [&'static Ambiguous]) -> Facts {
        Facts { ambiguous: first(word), ..self }
    }

    /// It takes no axes for all of them.
    pub const fn no_axes_are_all(self, _: &'static [&'static str]) -> Facts {
        Facts { no_axes_are_all: true, ..self }
    }

    /// It broadcasts as NumPy's ufuncs do.
    pub const fn ufunc(self, _: &'static [&'static str]) -> Facts {
        Facts { ufunc: true, ..self }
    }

    /// What it folds its elements with.
    pub const fn fold(self, operation: &'static [&'static str]) -> Facts {
        Facts { fold: first(operation), ..self }
    }

    /// What takes no part in the fold.
    pub const fn neutral(self, value: &'static [i64]) -> Facts {
        Facts { neutral: first(value), ..self }
    }

    /// Whose running fold it is.
    pub const fn scan(self, operation: &'static [&'static str]) -> Facts {
        Facts { scan: first(operation), ..self }
    }

    /// Whole numbers are computed in float64.
    pub const fn float64(self, _: &'static [&'static str]) -> Facts {
        Facts { float64: true, ..self }
    }

    /// It refuses booleans.
    pub const fn no_bool(self, _: &'static [&'static str]) -> Facts {
        Facts { no_bool: true, ..self }
    }

    /// Its result follows from the order of two operands.
    pub const fn compares(self, _: &'static [&'static str]) -> Facts {
        Facts { compares: true, ..self }
    }

    /// Float16 operands are computed in float32 as a whole.
    pub const fn float32(self, _: &'static [&'static str]) -> Facts {
        Facts { float32: true, ..self }
    }

    /// What whole numbers become where the operation has no loop for them: as a ufunc of NumPy's own, or float64.
    pub const fn whole_numbers(&self) -> WholeNumbers {
        let (mut i, mut ufunc) = (0, false);
        while i < self.numpy.len() {
            ufunc |= !has_dot(self.numpy[i]);
            i += 1;
        }
        match () {
            () if self.no_bool => WholeNumbers::NotBool,
            () if ufunc && !self.float64 => WholeNumbers::SmallestFloat,
            () => WholeNumbers::Float64,
        }
    }

    /// A result without axes is memory.
    pub const fn memory(self, _: &'static [&'static str]) -> Facts {
        Facts { memory: true, ..self }
    }

    /// The names of its results.
    pub const fn fields(self, names: &'static [&'static str]) -> Facts {
        Facts { fields: first(names), ..self }
    }

    /// The loop of its operands, then its parameters.
    pub const fn elementwise(self, operation: &'static [&'static Elementwise]) -> Facts {
        Facts { elementwise: first(operation), ..self }
    }
}
