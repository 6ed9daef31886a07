//! From Python's arguments to an operation's: who is meant by each, and conversion to its kind.
//!
//! Owns: binding of positions, keywords and aliases of names, and the messages about it. Never calls
//! an operation and never knows a single one's meaning.
//! Invariant: after [`bind`] every parameter has its argument, or is missing and has a default.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use smallvec::SmallVec;

use crate::bindings::call::convert::{self, type_name};
use crate::bindings::call::sequence::{self, MOST_AXES, MOST_ITEMS};
use crate::bindings::errors::bad_type;
use crate::bindings::tensor::PyTensor;
use crate::ops::core::declare::{Arg, Kind, OpDecl, Operand, Param};

pub(crate) type Args = SmallVec<[Arg; 4]>;

/// One converted argument per parameter.
pub(crate) fn bind<'py>(
    decl: &OpDecl,
    positional: &[Bound<'py, PyAny>],
    keywords: &[(Bound<'py, PyString>, Bound<'py, PyAny>)],
    args: &mut Args,
) -> PyResult<()> {
    let params = decl.params;
    args.extend(params.iter().map(|_| Arg::Missing));
    let several = params.first().is_some_and(|p| p.kind == Kind::Several);
    let spread = match several {
        true => bind_several(decl, positional, args)?,
        false => bind_positional(decl, positional, args)?,
    };
    let given = match spread {
        Some(last) => last + 1,
        None if several => 1,
        None => positional.len(),
    };
    for (key, value) in keywords {
        let key = key.to_cow()?;
        let Some(i) = parameter(decl, &key) else {
            if means_nothing(decl, &key, value) {
                continue;
            }
            return Err(unexpected(decl, &key));
        };
        refuse_ambiguous(decl, &key, keywords)?;
        if i < given || spread == Some(i) {
            return Err(complain(decl, format!("argument {:?} is given twice", params[i].name)));
        }
        args[i] = convert_arg(decl, &params[i], value)?;
    }
    for (arg, param) in args.iter().zip(params) {
        if matches!(arg, Arg::Missing) && param.default.is_none() && !param.optional {
            return Err(complain(decl, format!("missing argument {:?}", param.name)));
        }
    }
    Ok(())
}

/// Binds everything given by position to the first parameter.
fn bind_several(
    decl: &OpDecl,
    given: &[Bound<'_, PyAny>],
    args: &mut Args,
) -> PyResult<Option<usize>> {
    let tensor = |value| convert::tensor_of(decl.name, "an argument", value);
    args[0] = Arg::Tensors(given.iter().map(tensor).collect::<PyResult<_>>()?);
    Ok(None)
}

/// Binds what was given by position; the index of a parameter that took several arguments.
fn bind_positional(
    decl: &OpDecl,
    given: &[Bound<'_, PyAny>],
    args: &mut Args,
) -> PyResult<Option<usize>> {
    let params = &decl.params[..decl.params.len() - by_name_only(decl)];
    let last = params.len().wrapping_sub(1);
    let several = params.last().is_some_and(|p| {
        matches!(p.kind, Kind::Ints | Kind::Axes) && given.len() > params.len() && last > 0
    });
    let spread_tensors = spreads_tensors(decl, given);
    let several = several || spread_tensors;
    let alone = if several { last } else { params.len() };
    let limit = positional_limit(decl);
    if given.len() > limit && !several {
        let what = if limit == 1 { "1 argument".to_owned() } else { format!("{limit} arguments") };
        let kind = if limit < params.len() { " by position" } else { "" };
        let what = format!("takes at most {what}{kind} but {} were given", given.len());
        return Err(complain(decl, what));
    }
    for (i, value) in given.iter().take(alone).enumerate() {
        args[i] = convert_arg(decl, &params[i], value)?;
    }
    if !several {
        return Ok(None);
    }
    if spread_tensors {
        let tensors = given[last..]
            .iter()
            .map(|value| convert::tensor_of(decl.name, params[last].name, value));
        args[last] = Arg::Tensors(tensors.collect::<PyResult<_>>()?);
        return Ok(Some(last));
    }
    let mut ints = crate::ops::core::declare::Ints::new();
    for value in &given[last..] {
        match value.extract::<i64>() {
            Ok(i) => ints.push(i),
            Err(_) => return Err(wrong(decl, &params[last], "integers", value)),
        }
    }
    args[last] = Arg::Ints(ints);
    Ok(Some(last))
}

/// Whether a last parameter of several tensors was given as arguments of their own, not as one list.
fn spreads_tensors(decl: &OpDecl, given: &[Bound<'_, PyAny>]) -> bool {
    let last = decl.params.len().wrapping_sub(1);
    let takes = decl.params.last().is_some_and(|p| p.kind == Kind::Tensors) && last > 0;
    let one = given.len() == last + 1;
    takes && given.len() > last && !(one && sequence::is_sequence(&given[last]))
}

/// How many parameters at the end go by name only where several integers may be given before them.
pub(crate) fn by_name_only(decl: &OpDecl) -> usize {
    let ints = |p: &Param| matches!(p.kind, Kind::Axes | Kind::Ints);
    match decl.params {
        [.., before, last] if last.name == "order" && ints(before) => 1,
        _ => 0,
    }
}

/// How many arguments may be given by position: in reductions, what follows `axis` goes by name,
/// because NumPy's order differs.
fn positional_limit(decl: &OpDecl) -> usize {
    let axis = decl.params.iter().position(|p| p.name == "axis");
    match axis {
        Some(axis) if decl.family == "reduction" => axis + 1,
        _ => decl.params.len(),
    }
}

/// The parameter that a keyword means: its own name, or PyTorch's for it.
fn parameter(decl: &OpDecl, key: &str) -> Option<usize> {
    let position = |name: &str| decl.params.iter().position(|p| p.name == name);
    position(key).or_else(|| match key {
        "dim" | "dims" => position("axis").or_else(|| position("axes")),
        "keepdim" => position("keepdims"),
        "input" | "self" => Some(0),
        "other" if decl.params.len() == 2 => Some(1),
        "size" => position("shape"),
        // True and False count as the 1 and 0 that they mean.
        "correction" | "unbiased" => position("ddof"),
        "interpolation" => position("method"),
        "rtol" => position("rcond"),
        "unitriangular" => position("unit_diagonal"),
        "diagonal" | "offset" => position("k"),
        "UPLO" => position("uplo"),
        "dim1" => position("axis1"),
        "dim2" => position("axis2"),
        "shifts" => position("shift"),
        "value" => position("src"),
        "p" => position("ord"),
        _ => None,
    })
}

/// Whether a keyword of NumPy or PyTorch asks for what happens anyway.
fn means_nothing(decl: &OpDecl, key: &str, value: &Bound<'_, PyAny>) -> bool {
    match key {
        // Sorting is always stable.
        "stable" | "kind" => matches!(decl.name, "sort" | "argsort"),
        "sorted" => decl.name == "unique" && value.is_truthy().unwrap_or(false),
        "out" => value.is_none(),
        "device" => value.is_none() || value.to_string() == "cpu",
        _ => false,
    }
}

/// Refuses `dim=` where the two habits differ silently.
fn refuse_ambiguous(
    decl: &OpDecl,
    key: &str,
    keywords: &[(Bound<'_, PyString>, Bound<'_, PyAny>)],
) -> PyResult<()> {
    if key != "dim" {
        return Ok(());
    }
    let name = decl.name;
    let (what, remedy) = match name {
        "max" | "min" | "sort" | "median" => (
            "dim= returns values and indices in PyTorch, axis= only values in NumPy",
            format!(
                "write {name}(x, axis=...) for the values and arg{} for the indices",
                if name == "median" { "sort" } else { name }
            ),
        ),
        "var" | "std" if !keywords.iter().any(|(k, _)| says_divisor(&k.to_string_lossy())) => (
            "dim= divides by n - 1 in PyTorch, axis= by n in NumPy",
            format!("write {name}(x, axis=..., ddof=0) or {name}(x, dim=..., correction=1)"),
        ),
        _ => return Ok(()),
    };
    Err(bad_type(&format!("{name}()"), what, remedy))
}

/// Whether a keyword says by what a variance divides.
fn says_divisor(key: &str) -> bool {
    matches!(key, "correction" | "unbiased" | "ddof")
}

#[cold]
fn complain(decl: &OpDecl, what: String) -> PyErr {
    let names: Vec<&str> = decl.params.iter().map(|p| p.name).collect();
    let remedy = format!("the parameters are {}", names.join(", "));
    bad_type(&format!("{}()", decl.name), what, remedy)
}

#[cold]
fn unexpected(decl: &OpDecl, key: &str) -> PyErr {
    complain(decl, format!("unexpected keyword argument {key:?}"))
}

#[cold]
fn wrong(decl: &OpDecl, param: &Param, want: &str, value: &Bound<'_, PyAny>) -> PyErr {
    bad_type(
        decl.name,
        format!("{} is a {}", param.name, type_name(value)),
        format!("pass {want} as {}", param.name),
    )
}

fn convert_arg(decl: &OpDecl, param: &Param, value: &Bound<'_, PyAny>) -> PyResult<Arg> {
    if value.is_none() && (param.optional || matches!(param.kind, Kind::Axes)) {
        return Ok(Arg::None);
    }
    let name = param.name;
    if name == "axis" {
        refuse_axis(decl, value)?;
    }
    match param.kind {
        Kind::Tensor | Kind::Condition => {
            convert::tensor_of(decl.name, name, value).map(Arg::Tensor)
        }
        Kind::Operand => match convert::operand_of(decl.name, name, value)? {
            Operand::Tensor(tensor) => Ok(Arg::Tensor(tensor)),
            Operand::Scalar(scalar) => Ok(Arg::Scalar(scalar)),
        },
        Kind::Tensors | Kind::Several => {
            convert::tensors_of(decl.name, name, value).map(Arg::Tensors)
        }
        Kind::Int => match value.extract::<i64>() {
            Ok(i) => Ok(Arg::Scalar(crate::ops::core::declare::Scalar::Int(i))),
            Err(_) => Err(wrong(decl, param, "an integer", value)),
        },
        Kind::Axes | Kind::Ints => convert_ints(decl, param, value),
        Kind::Padding | Kind::Nested => convert_ints(decl, param, value),
        Kind::Bool => match value.extract::<bool>() {
            Ok(flag) => Ok(Arg::Scalar(crate::ops::core::declare::Scalar::Bool(flag))),
            Err(_) => Err(wrong(decl, param, "True or False", value)),
        },
        Kind::Float => convert_float(decl, param, value),
        Kind::Order => match value.cast::<PyString>() {
            Ok(text) => Ok(Arg::Str(text.to_cow()?.into_owned())),
            Err(_) => convert_float(decl, param, value),
        },
        Kind::Str => match value.cast::<PyString>() {
            Ok(text) => Ok(Arg::Str(text.to_cow()?.into_owned())),
            Err(_) => Err(wrong(decl, param, "a string", value)),
        },
        Kind::DType => convert::dtype_of(decl.name, value).map(Arg::DType),
        Kind::Index => Ok(Arg::Index(convert::index_of(value)?.into_vec())),
    }
}

/// What would count as an axis and is meant as something else: a truth value (`keepdim` or `unbiased`
/// by position), or a tensor (PyTorch's `max` of two).
fn refuse_axis(decl: &OpDecl, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let tensor = value.is_instance_of::<PyTensor>();
    if !tensor && !value.is_instance_of::<PyBool>() {
        return Ok(());
    }
    let remedy = match decl.name {
        "max" | "min" if tensor => format!("write {}imum for that of two tensors", decl.name),
        _ => "pass an integer or a tuple of integers as axis".to_owned(),
    };
    Err(bad_type(decl.name, format!("axis is a {}", type_name(value)), remedy))
}

/// Integers, alone, in a sequence or in several; a padding may be a name instead.
fn convert_ints(decl: &OpDecl, param: &Param, value: &Bound<'_, PyAny>) -> PyResult<Arg> {
    let (op, name) = (decl.name, param.name);
    let (found, want) = match param.kind {
        Kind::Nested => (
            convert::nested(op, name, value)?.map(Arg::Nested),
            "an integer or a sequence of integers or of sequences of them",
        ),
        Kind::Padding => match value.cast::<PyString>() {
            Ok(text) => (Some(Arg::Str(text.to_cow()?.into_owned())), ""),
            Err(_) => {
                let widths = convert::ints(op, name, value, MOST_AXES)?;
                (widths.map(Arg::Ints), "integers, \"valid\" or \"same\"")
            }
        },
        kind => {
            let most = if kind == Kind::Axes { MOST_AXES } else { MOST_ITEMS };
            let ints = convert::ints(op, name, value, most)?;
            (ints.map(Arg::Ints), "an integer or a tuple of integers")
        }
    };
    found.ok_or_else(|| wrong(decl, param, want, value))
}

fn convert_float(decl: &OpDecl, param: &Param, value: &Bound<'_, PyAny>) -> PyResult<Arg> {
    if let Some(number) = convert::weak_number(value)? {
        return Ok(Arg::Scalar(number));
    }
    match value.extract::<f64>() {
        Ok(float) => Ok(Arg::Scalar(crate::ops::core::declare::Scalar::Float(float))),
        Err(_) => Err(wrong(decl, param, "a number", value)),
    }
}
