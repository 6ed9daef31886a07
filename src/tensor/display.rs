//! `Display` and `Debug` of tensors: the text of NumPy's `str` with its default print options, and one short line.

use std::fmt;

use ndarray::{ArrayViewD, Axis};

use crate::dtype::{Complex, Complex64, Complex128, DType, Element, Half, with_dtype};
use crate::error::Result;
use crate::tensor::Tensor;

/// NumPy's print options: digits after the point, columns of a line, the size above which a tensor is summarised, and the
/// items then kept at either end of an axis.
const PRECISION: usize = 8;
const LINE_WIDTH: usize = 75;
const THRESHOLD: usize = 1000;
const EDGE_ITEMS: usize = 3;
/// Smaller floats are printed with an exponent.
const EXPONENT_BELOW: f64 = 1e-4;
/// Tensors up to this size show their values in `Debug`.
const DEBUG_VALUES: usize = 8;

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.dtype() {
            DType::F16 => text::<Half>(self, floats, scalar_float),
            d if d.is_float() => with_dtype!(float d, T => text::<T>(self, floats, scalar_float)),
            DType::C128 => text::<Complex128>(self, complex::<f64>, scalar_complex::<f64>),
            DType::C64 => text::<Complex64>(self, complex::<f32>, scalar_complex::<f32>),
            d if d.is_integer() => {
                with_dtype!(d, T => text::<T>(self, format_aligned, |v| format!("{v:?}")))
            }
            _ => {
                let word = |v: bool| if v { "True" } else { "False" };
                let words =
                    |all: &[bool]| align_right(all.iter().map(|v| word(*v).into()).collect());
                text::<bool>(self, words, |v| word(v).into())
            }
        };
        f.write_str(&text.map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("Tensor");
        parts.field("shape", &self.shape()).field("dtype", &self.dtype());
        parts.field("requires_grad", &self.requires_grad());
        if self.size() > DEBUG_VALUES {
            return parts.finish_non_exhaustive();
        }
        with_dtype!(self.dtype(), T => {
            parts.field("values", &self.to_vec::<T>().unwrap_or_default()).finish()
        })
    }
}

/// The text of a tensor; `words` formats the shown elements together, `scalar` a 0-d tensor.
fn text<T: Element>(
    tensor: &Tensor,
    words: impl Fn(&[T]) -> Vec<String>,
    scalar: impl Fn(T) -> String,
) -> Result<String> {
    let guard = tensor.view::<T>()?;
    let view = guard.array();
    if view.is_empty() {
        return Ok("[]".into());
    }
    if let ([], Some(value)) = (view.shape(), view.iter().next()) {
        return Ok(scalar(*value));
    }
    let summarise = view.len() > THRESHOLD;
    let mut shown = Vec::new();
    collect(view.view(), summarise, &mut shown);
    let mut words = words(&shown).into_iter();
    Ok(block(view.shape(), summarise, &mut words, 1, LINE_WIDTH))
}

/// The numbers of shown indices before and after the gap of an axis.
fn shown_counts(len: usize, summarise: bool) -> (usize, usize) {
    if summarise && 2 * EDGE_ITEMS < len { (EDGE_ITEMS, EDGE_ITEMS) } else { (len, 0) }
}

fn collect<T: Element>(view: ArrayViewD<'_, T>, summarise: bool, into: &mut Vec<T>) {
    let Some(&len) = view.shape().first() else {
        into.extend(view.iter().copied());
        return;
    };
    let (first, last) = shown_counts(len, summarise);
    for i in (0..first).chain(len - last..len) {
        collect(view.index_axis(Axis(0), i), summarise, into);
    }
}

/// The brackets around one axis, its items indented by `indent` and broken before column `width`.
fn block(
    dims: &[usize],
    summarise: bool,
    words: &mut impl Iterator<Item = String>,
    indent: usize,
    width: usize,
) -> String {
    let (len, inner) = (dims[0], &dims[1..]);
    let (first, last) = shown_counts(len, summarise);
    let mut items = Vec::with_capacity(first + last + 1);
    for i in 0..first + last {
        if i == first {
            items.push("...".to_string());
        }
        items.push(if inner.is_empty() {
            words.next().unwrap_or_default()
        } else {
            block(inner, summarise, words, indent + 1, width - 1)
        });
    }
    let margin = " ".repeat(indent);
    if !inner.is_empty() {
        let separator = "\n".repeat(inner.len()) + &margin;
        return format!("[{}]", items.join(&separator));
    }
    let (mut text, mut line) = (String::new(), margin.clone());
    for (i, word) in items.iter().enumerate() {
        if line.len() > indent && line.len() + word.len() > width - 1 {
            text += line.trim_end();
            text.push('\n');
            line.clone_from(&margin);
        }
        line += word;
        if i + 1 < items.len() {
            line.push(' ');
        }
    }
    format!("[{}]", &(text + &line)[indent..])
}

/// Pads words on the left to one width.
fn align_right(words: Vec<String>) -> Vec<String> {
    let width = words.iter().map(String::len).max().unwrap_or(0);
    words.into_iter().map(|word| format!("{word:>width$}")).collect()
}

fn format_aligned<T: fmt::Debug>(values: &[T]) -> Vec<String> {
    align_right(values.iter().map(|v| format!("{v:?}")).collect())
}

/// NaN and the infinities as NumPy writes them.
fn special(value: f64) -> Option<&'static str> {
    match value {
        v if v.is_nan() => Some("nan"),
        f64::INFINITY => Some("inf"),
        f64::NEG_INFINITY => Some("-inf"),
        _ => None,
    }
}

/// Digits before and after the point: the shortest that identify the number, but at most eight after the point, rounded.
fn digits(shortest: &str, rounded: impl Fn() -> String) -> (String, String) {
    let parts = |text: &str| {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        (whole.to_string(), fraction.trim_end_matches('0').to_string())
    };
    let found = parts(shortest);
    if found.1.len() > PRECISION { parts(&rounded()) } else { found }
}

fn positional<T: fmt::Display>(value: T) -> (String, String) {
    digits(&value.to_string(), || format!("{value:.PRECISION$}"))
}

/// Mantissa before and after the point, and the exponent.
fn scientific<T: fmt::LowerExp>(value: T) -> (String, String, i32) {
    let split = |text: String| {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        (mantissa.to_string(), exponent.parse().unwrap_or(0))
    };
    let (mantissa, exponent) = split(format!("{value:e}"));
    let (rounded, after) = split(format!("{value:.PRECISION$e}"));
    let long = mantissa.split_once('.').is_some_and(|(_, f)| f.len() > PRECISION);
    let (whole, fraction) = digits(&mantissa, || rounded.clone());
    (whole, fraction, if long { after } else { exponent })
}

/// Floats in one common format, chosen by the largest and the smallest.
fn floats<T: Element + fmt::Display + fmt::LowerExp>(values: &[T]) -> Vec<String> {
    let sizes = values.iter().map(|v| v.to_f64().abs()).filter(|v| v.is_finite() && *v != 0.0);
    let (low, high) = sizes.fold((f64::INFINITY, 0.0), |(l, h), v| (v.min(l), v.max(h)));
    let small = T::from_f64(EXPONENT_BELOW).to_f64();
    let exponents = high > 0.0 && (high >= 1e8 || low < small || high / low > 1000.0);
    let finite = || values.iter().filter(|v| v.to_f64().is_finite());
    let word = |v: &T| special(v.to_f64()).map(str::to_string);
    if exponents {
        let parts = || finite().map(|v| scientific(*v));
        let places = parts().map(|p| p.1.len()).max().unwrap_or(0);
        let width = parts().map(|p| p.2.abs().to_string().len()).max().unwrap_or(0).max(2);
        let write = |v: &T| {
            let (whole, fraction, exponent) = scientific(*v);
            let (sign, size) = (if exponent < 0 { '-' } else { '+' }, exponent.abs());
            format!("{whole}.{fraction:0<places$}e{sign}{size:0>width$}")
        };
        return align_right(values.iter().map(|v| word(v).unwrap_or_else(|| write(v))).collect());
    }
    let places = finite().map(|v| positional(*v).1.len()).max().unwrap_or(0);
    let write = |v: &T| {
        let (whole, fraction) = positional(*v);
        format!("{whole}.{fraction:<places$}")
    };
    align_right(values.iter().map(|v| word(v).unwrap_or_else(|| write(v))).collect())
}

/// Complex numbers: the real parts in one format, the imaginary ones in another, always with a sign.
fn complex<T: Element + fmt::Display + fmt::LowerExp>(values: &[Complex<T>]) -> Vec<String> {
    let real = floats(&values.iter().map(|z| z.re).collect::<Vec<T>>());
    let imaginary = floats(&values.iter().map(|z| z.im).collect::<Vec<T>>());
    let signed = imaginary.iter().map(|word| with_sign(word.trim_start())).collect();
    let joined = |(re, im): (&String, String)| {
        let digits = im.trim_end().len();
        format!("{re}{}j{}", &im[..digits], &im[digits..])
    };
    align_right(real.iter().zip(align_right(signed)).map(joined).collect())
}

fn with_sign(word: &str) -> String {
    if word.starts_with('-') { word.into() } else { format!("+{word}") }
}

/// One complex number as Python writes it.
fn scalar_complex<T: Element + fmt::Display + fmt::LowerExp>(value: Complex<T>) -> String {
    let part = |v: T| {
        let text = scalar_float(v);
        text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
    };
    if value.re.to_f64().to_bits() == 0 {
        return part(value.im) + "j";
    }
    format!("({}{}j)", part(value.re), with_sign(&part(value.im)))
}

/// One float with the shortest digits that identify it.
fn scalar_float<T: Element + fmt::Display + fmt::LowerExp>(value: T) -> String {
    let size = value.to_f64().abs();
    if let Some(word) = special(value.to_f64()) {
        return word.into();
    }
    if size == 0.0 || (T::from_f64(EXPONENT_BELOW).to_f64()..1e16).contains(&size) {
        let text = value.to_string();
        return if text.contains('.') { text } else { text + ".0" };
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{mantissa}e{sign}{size:0>2}")
}
