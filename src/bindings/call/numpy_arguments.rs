//! Arguments that NumPy's methods take by position and ours by name: `A.sum(0, float)`, `A.flatten("F")`; and `initial` and
//! `where`, which NumPy's functions take alone.
//!
//! Owns: their names, in NumPy's order. Never computes with them.
//! Invariant: a truth value or a number there is not taken, since PyTorch has `keepdim` and others in these places.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};
use smallvec::SmallVec;

use crate::bindings::call::convert;
use crate::bindings::call::intercept::Keyword;
use crate::bindings::object::wrap;
use crate::ops::core::op_decl::OpDecl;

/// What follows the arguments that libraries agree about.
fn names(op: &str) -> &'static [&'static str] {
    match op {
        "sum" | "prod" | "mean" => &["dtype", "out", "keepdims"],
        "std" | "var" => &["dtype", "out", "ddof", "keepdims"],
        "max" | "min" | "amax" | "amin" | "any" | "all" | "argmax" | "argmin" => {
            &["out", "keepdims"]
        }
        "clip" | "cumprod" | "cumsum" | "dot" | "matmul" | "round" | "take" => &["out"],
        "trace" => &["dtype", "out"],
        _ => &[],
    }
}

/// The keywords that the last of the arguments by position stand for, and how many come before them.
#[cold]
pub(crate) fn named<'py>(
    decl: &OpDecl,
    given: &[Bound<'py, PyAny>],
) -> Option<(usize, SmallVec<[Keyword<'py>; 4]>)> {
    let (last, before) = given.split_last()?;
    let word = match decl.name {
        "reshape" | "flatten" | "clone" => Some("order"),
        "argsort" => Some("kind"),
        _ => None,
    };
    if let Some(word) = word {
        let word = PyString::intern(last.py(), word);
        let named = !before.is_empty() && last.is_instance_of::<PyString>();
        return named.then(|| (before.len(), SmallVec::from_iter([(word, last.clone())])));
    }
    let (at, names) = (decl.positional(), names(decl.name));
    let rest = given.get(at..).filter(|rest| !rest.is_empty() && rest.len() <= names.len())?;
    if rest[0].is_instance_of::<PyInt>() {
        return None;
    }
    let pairs = names.iter().zip(rest).filter(|(_, value)| !value.is_none());
    let keyword = |(name, value): (&&str, &Bound<'py, PyAny>)| {
        (PyString::intern(value.py(), name), value.clone())
    };
    Some((at, pairs.map(keyword).collect()))
}

/// A call with `initial` or `where` of an operation that folds, or with `where` or `dtype` of a mean or a variance: by NumPy's
/// function, whose dispatch knows what these mean.
#[cold]
pub(crate) fn folded<'py>(
    py: Python<'py>,
    decl: &OpDecl,
    given: &[Bound<'py, PyAny>],
    keywords: &[Keyword<'py>],
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let words: &[&str] = match decl.name {
        "mean" => &["where"],
        "std" | "var" => &["where", "dtype"],
        _ => decl.facts.fold.map(|_| ["initial", "where"].as_slice())?,
    };
    let (function, x) = (decl.facts.numpy.first()?, given.first()?);
    let names = names(decl.name);
    let beyond = !names.is_empty() && given.len() > decl.positional() + names.len();
    // The dtype of a variance is its third argument, where PyTorch has another.
    let typed = words.contains(&"dtype")
        && given.get(decl.positional()).is_some_and(|third| !third.is_instance_of::<PyInt>());
    let is_word = |(key, _): &Keyword<'_>| words.contains(&&*key.to_string_lossy());
    if !beyond && !typed && !keywords.iter().any(is_word) {
        return None;
    }
    let call = || {
        let x = wrap(py, convert::tensor_of(decl.name, "x", x)?)?;
        let given: Vec<_> = std::iter::once(&x).chain(&given[1..]).collect();
        let named = PyDict::new(py);
        keywords.iter().try_for_each(|(key, value)| named.set_item(key, value))?;
        let function = py.import("numpy")?.getattr(*function)?;
        function.call(PyTuple::new(py, given)?, Some(&named))
    };
    Some(call())
}
