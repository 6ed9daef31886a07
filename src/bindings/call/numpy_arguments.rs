//! Positional arguments of NumPy's methods that are keyword-only here (`A.sum(0, float)`, `A.flatten("F")`), and
//! `initial` and `where`, which only NumPy's functions take.
//! A bool or a number in these positions is not taken: PyTorch has `keepdim` and others there.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};
use smallvec::SmallVec;

use crate::bindings::call::convert;
use crate::bindings::call::intercept::Keyword;
use crate::bindings::object::wrap;
use crate::ops::core::op_decl::OpDecl;

/// NumPy's further parameters, after those on which all libraries agree.
fn positional_names(op: &str) -> &'static [&'static str] {
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

/// The keywords that trailing positional arguments stand for, and how many arguments come before them.
#[cold]
pub(crate) fn keywords_by_position<'py>(
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
        let by_keyword = !before.is_empty() && last.is_instance_of::<PyString>();
        return by_keyword.then(|| (before.len(), SmallVec::from_iter([(word, last.clone())])));
    }
    let (at, names) = (decl.positional(), positional_names(decl.name));
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

/// A reduction with `initial` or `where`, or a mean or variance with `where` or `dtype`: calls NumPy's function, whose
/// dispatch handles these keywords.
#[cold]
pub(crate) fn call_numpy_reduction<'py>(
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
    let names = positional_names(decl.name);
    let beyond = !names.is_empty() && given.len() > decl.positional() + names.len();
    // The dtype of a variance is its third argument, where PyTorch has another parameter.
    let typed = words.contains(&"dtype")
        && given.get(decl.positional()).is_some_and(|third| !third.is_instance_of::<PyInt>());
    let is_word = |(key, _): &Keyword<'_>| words.contains(&&*key.to_string_lossy());
    if !beyond && !typed && !keywords.iter().any(is_word) {
        return None;
    }
    let call = || {
        let x = wrap(py, convert::tensor_of(decl.name, "x", x)?)?;
        let given: Vec<_> = std::iter::once(&x).chain(&given[1..]).collect();
        let kwargs = PyDict::new(py);
        keywords.iter().try_for_each(|(key, value)| kwargs.set_item(key, value))?;
        let function = py.import("numpy")?.getattr(*function)?;
        function.call(PyTuple::new(py, given)?, Some(&kwargs))
    };
    Some(call())
}
