//! Binds the positional and keyword arguments of a call to the parameters of an operation's declaration, and converts
//! each to its kind.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyType};
use smallvec::SmallVec;

use crate::bindings::call::convert;
use crate::bindings::call::intercept::Keyword;
use crate::bindings::call::numpy_arguments;
use crate::bindings::call::result_options::ResultOptions;
use crate::bindings::call::sequence::{self, MAX_AXES, MAX_ITEMS};
use crate::bindings::errors::{bad_type, type_name};
use crate::bindings::interop::numpy;
use crate::bindings::object::PyTensor;
use crate::ops::core::op_decl::{Arg, Kind, OpDecl, Operand, Param, Scalar};

pub(crate) type Args = SmallVec<[Arg; 4]>;

/// Binds and converts the arguments: one per parameter. Returns `out=` and `name=`.
pub(crate) fn bind<'py>(
    decl: &OpDecl,
    positional: &[Bound<'py, PyAny>],
    keywords: &[Keyword<'py>],
    args: &mut Args,
) -> PyResult<ResultOptions<'py>> {
    let mut options = ResultOptions::default();
    decl.params.iter().for_each(|_| args.push(Arg::Missing));
    let positional = split_result_name(decl, positional, &mut options)?;
    let may_be_numpy_style = |last: &Bound<'py, PyAny>| {
        positional.len() > decl.positional() || last.is_instance_of::<PyString>()
    };
    let numpy_style = positional.last().filter(|last| may_be_numpy_style(last));
    let numpy_style =
        numpy_style.and_then(|_| numpy_arguments::keywords_by_position(decl, positional));
    let joined: Vec<Keyword<'py>>;
    let (positional, keywords) = match numpy_style {
        Some((at, named)) => {
            joined = keywords.iter().cloned().chain(named).collect();
            refuse_duplicates(decl, &joined)?;
            (&positional[..at], &joined[..])
        }
        None => (positional, keywords),
    };
    let bound = bind_positional_args(decl, positional, args)?;
    let factor = bind_keywords(decl, keywords, bound, args, &mut options)?;
    refuse_missing(decl, args)?;
    if let Some(factor) = factor {
        scale_second_operand(decl, positional, keywords, args, factor)?;
    }
    Ok(options)
}

/// Binds the keyword arguments after `bind_positional_args`; returns the value of the factor keyword (`alpha` of
/// `add`), if given.
fn bind_keywords<'a, 'py>(
    decl: &OpDecl,
    keywords: &'a [Keyword<'py>],
    (unpacked, given): (Option<usize>, usize),
    args: &mut Args,
    options: &mut ResultOptions<'py>,
) -> PyResult<Option<&'a Bound<'py, PyAny>>> {
    let mut factor = None;
    for (key, value) in keywords {
        let key = key.to_cow()?;
        let Some(i) = decl.parameter(&key) else {
            if options.take(decl, &key, value)? || is_ignored(decl, &key, value) {
                continue;
            }
            if decl.facts.factor != Some(&*key) {
                return Err(unexpected(decl, &key));
            }
            factor = Some(value);
            continue;
        };
        refuse_ambiguous(decl, &key, keywords)?;
        let param = &decl.params[i];
        if i < given || unpacked == Some(i) {
            return Err(binding_error(decl, format!("argument {:?} is given twice", param.name)));
        }
        args[i] = convert_arg(decl, param, value)?;
        refuse_no_axes(decl, &key, &args[i])?;
    }
    Ok(factor)
}

/// Binds the positional arguments; returns the parameter that took several of them, if any, and how many parameters are
/// bound.
fn bind_positional_args(
    decl: &OpDecl,
    positional: &[Bound<'_, PyAny>],
    args: &mut Args,
) -> PyResult<(Option<usize>, usize)> {
    if decl.params.first().is_some_and(|p| p.kind == Kind::Variadic) {
        bind_variadic(decl, positional, args)?;
        return Ok((None, 1));
    }
    let unpacked = bind_positional(decl, positional, args)?;
    Ok((unpacked, unpacked.map_or(positional.len(), |last| last + 1)))
}

/// Splits off the name of the result, for operations that take it as last positional argument.
fn split_result_name<'a, 'py>(
    decl: &OpDecl,
    positional: &'a [Bound<'py, PyAny>],
    options: &mut ResultOptions<'py>,
) -> PyResult<&'a [Bound<'py, PyAny>]> {
    match positional.split_last() {
        Some((last, before)) if decl.facts.named && before.len() == decl.params.len() => {
            options.set_name(decl, last)?;
            Ok(before)
        }
        _ => Ok(positional),
    }
}

fn refuse_duplicates(decl: &OpDecl, keywords: &[Keyword<'_>]) -> PyResult<()> {
    for (i, (key, _)) in keywords.iter().enumerate() {
        let key = key.to_cow()?;
        if keywords[..i].iter().any(|(other, _)| other.to_cow().is_ok_and(|other| other == key)) {
            return Err(binding_error(decl, format!("argument {key:?} is given twice")));
        }
    }
    Ok(())
}

/// Refuses a call that leaves out a required argument.
fn refuse_missing(decl: &OpDecl, args: &Args) -> PyResult<()> {
    for (arg, param) in args.iter().zip(decl.params) {
        if matches!(arg, Arg::Missing) && !param.may_be_omitted() {
            return Err(binding_error(decl, format!("missing argument {:?}", param.name)));
        }
    }
    Ok(())
}

/// Multiplies the second operand by the factor (`alpha`).
#[cold]
fn scale_second_operand<'py>(
    decl: &OpDecl,
    positional: &[Bound<'py, PyAny>],
    keywords: &[Keyword<'py>],
    args: &mut Args,
    factor: &Bound<'py, PyAny>,
) -> PyResult<()> {
    let named =
        |(key, _): &&Keyword<'py>| key.to_cow().is_ok_and(|key| decl.parameter(&key) == Some(1));
    let operand = match positional.get(1) {
        Some(operand) => operand,
        None => keywords.iter().find(named).map_or(factor, |(_, value)| value),
    };
    args[1] = convert_arg(decl, &decl.params[1], &operand.mul(factor)?)?;
    Ok(())
}

/// Binds all positional arguments to the first parameter.
fn bind_variadic(decl: &OpDecl, given: &[Bound<'_, PyAny>], args: &mut Args) -> PyResult<()> {
    args[0] = Arg::Tensors(convert::tensors_from(decl.name, "an argument", given)?);
    Ok(())
}

/// Binds positional arguments one by one; returns the index of a last parameter that took several (`reshape(2, 3)`).
fn bind_positional(
    decl: &OpDecl,
    given: &[Bound<'_, PyAny>],
    args: &mut Args,
) -> PyResult<Option<usize>> {
    let params = decl.params;
    let limit = decl.positional() + usize::from(is_keepdims_by_position(decl, given));
    let unpacked = match decl.variadic_param() {
        Some(last) if given.len() > limit => Some(last),
        _ if has_unpacked_tensors(decl, given) => Some(params.len() - 1),
        _ => None,
    };
    if given.len() > limit && unpacked.is_none() {
        let what = if limit == 1 { "1 argument".to_owned() } else { format!("{limit} arguments") };
        let kind = if limit < params.len() { " by position" } else { "" };
        let what = format!("takes at most {what}{kind} but {} were given", given.len());
        return Err(binding_error(decl, what));
    }
    let alone = unpacked.unwrap_or(params.len());
    for (i, value) in given.iter().take(alone).enumerate() {
        args[i] = convert_arg(decl, &params[i], value)?;
    }
    let Some(last) = unpacked else {
        return Ok(None);
    };
    let rest = &given[last..];
    args[last] = if params[last].kind == Kind::Tensors {
        Arg::Tensors(convert::tensors_from(decl.name, params[last].name, rest)?)
    } else {
        let int = |value: &Bound<'_, PyAny>| {
            value.extract().map_err(|_| wrong_type(decl, &params[last], "integers", value))
        };
        Arg::Ints(rest.iter().map(int).collect::<PyResult<_>>()?)
    };
    Ok(Some(last))
}

/// Whether the one extra positional argument is a bool for `keepdims`, as in PyTorch programs (a dtype there is NumPy's).
/// False where libraries disagree about what follows the axis.
fn is_keepdims_by_position(decl: &OpDecl, given: &[Bound<'_, PyAny>]) -> bool {
    let at = decl.positional();
    given.len() == at + 1
        && decl.params.get(at).is_some_and(|param| param.name == "keepdims")
        && decl.facts.ambiguous.is_none()
        && given[at].is_instance_of::<PyBool>()
}

/// Whether the tensors of a last sequence parameter were given unpacked (`f(a, b, c)`) rather than as one list.
fn has_unpacked_tensors(decl: &OpDecl, given: &[Bound<'_, PyAny>]) -> bool {
    let last = decl.params.len().wrapping_sub(1);
    let takes = decl.params.last().is_some_and(|p| p.kind == Kind::Tensors) && last > 0;
    let one = given.len() == last + 1;
    takes && given.len() > last && !(one && sequence::is_sequence(&given[last]))
}

/// Whether a keyword asks for the default behaviour, such as `device="cpu"`.
fn is_ignored(decl: &OpDecl, key: &str, value: &Bound<'_, PyAny>) -> bool {
    let ignored = decl.facts.ignores.iter().find(|(word, _)| *word == key);
    match ignored {
        Some((_, None)) => true,
        Some((_, Some(truth))) => value.is_truthy().is_ok_and(|given| given == *truth),
        None => key == "device" && (value.is_none() || value.to_string() == "cpu"),
    }
}

/// Refuses a keyword whose meaning differs between libraries.
fn refuse_ambiguous(decl: &OpDecl, key: &str, keywords: &[Keyword<'_>]) -> PyResult<()> {
    let Some(word) = decl.facts.ambiguous.filter(|word| word.keyword == key) else {
        return Ok(());
    };
    if keywords.iter().any(|(k, _)| word.unless.contains(&&*k.to_string_lossy())) {
        return Ok(());
    }
    let remedy = word.remedy.replace("{name}", decl.name);
    Err(bad_type(&format!("{}()", decl.name), word.what, remedy))
}

/// Refuses `dim=()`: PyTorch's reductions then reduce all axes, and NumPy's (`axis=()`) none.
fn refuse_no_axes(decl: &OpDecl, key: &str, axes: &Arg) -> PyResult<()> {
    let none = key == "dim" && matches!(axes, Arg::Ints(axes) if axes.is_empty());
    let reduces = || decl.params.iter().any(|param| param.name == "keepdims");
    if !none || decl.facts.no_axes_are_all || !reduces() {
        return Ok(());
    }
    Err(bad_type(
        &format!("{}()", decl.name),
        "dim=() reduces all axes in PyTorch, axis=() none in NumPy",
        "leave dim out to reduce all axes, write axis=() to reduce none",
    ))
}

#[cold]
fn binding_error(decl: &OpDecl, what: String) -> PyErr {
    let names: Vec<&str> = decl.params.iter().map(|p| p.name).collect();
    let remedy = format!("the parameters are {}", names.join(", "));
    bad_type(&format!("{}()", decl.name), what, remedy)
}

#[cold]
fn unexpected(decl: &OpDecl, key: &str) -> PyErr {
    binding_error(decl, format!("unexpected keyword argument {key:?}"))
}

#[cold]
fn wrong_type(decl: &OpDecl, param: &Param, want: &str, value: &Bound<'_, PyAny>) -> PyErr {
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
        Kind::Tensors | Kind::Variadic => convert::tensors_of(decl, name, value).map(Arg::Tensors),
        Kind::Int => match value.extract::<i64>() {
            Ok(i) => Ok(Arg::Scalar(Scalar::Int(i))),
            Err(_) => Err(wrong_type(decl, param, "an integer", value)),
        },
        Kind::Axes | Kind::Ints => convert_ints(decl, param, value),
        Kind::Padding | Kind::Nested | Kind::ShapeOrDType => convert_ints(decl, param, value),
        Kind::Bool => match (value.extract::<bool>(), value.extract::<i64>()) {
            (Ok(flag), _) => Ok(Arg::Scalar(Scalar::Bool(flag))),
            // NumPy accepts 1 and 0 as flags.
            (Err(_), Ok(number)) => Ok(Arg::Scalar(Scalar::Bool(number != 0))),
            _ => Err(wrong_type(decl, param, "True or False", value)),
        },
        Kind::Float => convert_float(decl, param, value),
        Kind::Order => match value.cast::<PyString>() {
            Ok(text) => Ok(Arg::Str(text.to_cow()?.into_owned())),
            Err(_) => convert_float(decl, param, value),
        },
        Kind::Str => match value.cast::<PyString>() {
            Ok(text) => Ok(Arg::Str(text.to_cow()?.into_owned())),
            Err(_) => Err(wrong_type(decl, param, "a string", value)),
        },
        Kind::DType => convert::dtype_of(decl.name, value).map(Arg::DType),
        Kind::Index => Ok(Arg::Index(convert::index_of(value)?.into_vec())),
    }
}

/// Refuses an axis that is meant as another argument: a bool (`keepdim` or `unbiased` by position), or a tensor
/// (PyTorch's `max` of two tensors).
fn refuse_axis(decl: &OpDecl, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let tensor = value.is_instance_of::<PyTensor>();
    if !tensor && !value.is_instance_of::<PyBool>() {
        return Ok(());
    }
    let remedy = match decl.facts.fold {
        Some(operation) if tensor => format!("write {operation} for that of two tensors"),
        _ => "pass an integer or a tuple of integers as axis".to_owned(),
    };
    Err(bad_type(decl.name, format!("axis is a {}", type_name(value)), remedy))
}

/// Whether an object names a dtype: a NumPy dtype, a scalar type, or a string.
fn names_dtype(value: &Bound<'_, PyAny>) -> bool {
    let class = || value.is_instance_of::<PyType>() || value.hasattr("itemsize").unwrap_or(false);
    value.is_instance_of::<PyString>() || class()
}

/// Converts one integer, a sequence, or nested sequences; a padding may also be a string, and the shape of `view` a
/// dtype.
fn convert_ints(decl: &OpDecl, param: &Param, value: &Bound<'_, PyAny>) -> PyResult<Arg> {
    let (op, name) = (decl.name, param.name);
    if let Some(one) = convert::index_number(value)? {
        return Ok(Arg::Scalar(Scalar::Int(one)));
    }
    let (found, want) = match param.kind {
        Kind::Nested => (
            convert::nested(op, name, value)?.map(Arg::Nested),
            "an integer or a sequence of integers or of sequences of them",
        ),
        Kind::Padding => match value.cast::<PyString>() {
            Ok(text) => (Some(Arg::Str(text.to_cow()?.into_owned())), ""),
            Err(_) => {
                let widths = convert::ints(op, name, value, MAX_AXES)?;
                (widths.map(Arg::Ints), "integers, \"valid\" or \"same\"")
            }
        },
        Kind::ShapeOrDType => match convert::ints(op, name, value, MAX_ITEMS)? {
            Some(shape) => (Some(Arg::Ints(shape)), ""),
            None if names_dtype(value) => (Some(Arg::DType(convert::dtype_of(op, value)?)), ""),
            None => (None, "a shape or a dtype"),
        },
        kind => {
            let limit = if kind == Kind::Axes { MAX_AXES } else { MAX_ITEMS };
            let ints = convert::ints(op, name, value, limit)?;
            (ints.map(Arg::Ints), "an integer or a tuple of integers")
        }
    };
    found.ok_or_else(|| wrong_type(decl, param, want, value))
}

fn convert_float(decl: &OpDecl, param: &Param, value: &Bound<'_, PyAny>) -> PyResult<Arg> {
    if let Some(number) = convert::weak_number(value)? {
        return Ok(Arg::Scalar(number));
    }
    match value.extract::<f64>() {
        Ok(float) => Ok(Arg::Scalar(Scalar::Float(float))),
        Err(_) => Err(not_a_number(decl, param, value)),
    }
}

/// The error for a value that is no number. An array there was probably meant as an operand, so the message gives the
/// parameter order.
#[cold]
fn not_a_number(decl: &OpDecl, param: &Param, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = match value {
        _ if value.is_instance_of::<PyTensor>() => "a tensor",
        _ if numpy::is_array(value) => "an array",
        _ => return wrong_type(decl, param, "a number", value),
    };
    let shape = value.getattr("shape").map_or_else(|_| String::new(), |shape| shape.to_string());
    let names: Vec<&str> = decl.params.iter().map(|p| p.name).collect();
    bad_type(
        decl.name,
        format!("{} is {kind} of shape {shape}", param.name),
        format!("pass a number as {}; the order is {}", param.name, names.join(", ")),
    )
}
