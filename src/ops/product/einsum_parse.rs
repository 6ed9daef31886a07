//! Parses einsum subscripts against the shapes of the operands, with all error messages.
//!
//! Invariant: in a finished plan each label has one size, and the output's labels are distinct and
//! known.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::array::ShapeVec;
use crate::error::{Dims, Error, Result};
use crate::tensor::Tensor;

/// An axis: a letter, or a position in `...` counted from its end.
pub(super) type Label = u32;
pub(super) type Labels = SmallVec<[Label; 6]>;

/// Label of the last axis of `...`; the axis before it has the next number.
const ELLIPSIS: Label = 256;

/// Parsed subscripts.
pub(super) struct EinsumPlan {
    /// One label per axis of each operand.
    pub(super) inputs: SmallVec<[Labels; 2]>,
    /// One label per axis of the result.
    pub(super) output: Labels,
    sizes: SmallVec<[(Label, usize); 6]>,
}

impl EinsumPlan {
    pub(super) fn size(&self, label: Label) -> usize {
        self.sizes.iter().find(|(l, _)| *l == label).map_or(1, |(_, size)| *size)
    }

    pub(super) fn dims(&self, labels: &[Label]) -> ShapeVec {
        labels.iter().map(|&l| self.size(l)).collect()
    }

    pub(super) fn count(&self, labels: &[Label]) -> usize {
        labels.iter().map(|&l| self.size(l)).product()
    }

    /// Records the sizes of one operand's labels; size 1 broadcasts.
    fn record_sizes(&mut self, index: usize, dims: &[usize]) -> Result<()> {
        let labels = self.inputs[index].clone();
        for (i, (&label, &d)) in labels.iter().zip(dims).enumerate() {
            if let Some(k) = labels[..i].iter().position(|&l| l == label)
                && dims[k] != d
            {
                let what = format!(
                    "{} repeats in operand {index} on axes of size {} and {d}",
                    label_name(label),
                    dims[k]
                );
                return Err(shape_error(
                    what,
                    "a repeated label reads a diagonal: its axes must have one size",
                ));
            }
            match self.sizes.iter_mut().find(|(l, _)| *l == label) {
                None => self.sizes.push((label, d)),
                Some((_, size)) if *size == d || d == 1 => {}
                Some((_, size)) if *size == 1 => *size = d,
                Some((_, size)) => {
                    let what = format!(
                        "{} has size {size} and, in operand {index} of shape {}, {d}",
                        label_name(label),
                        Dims::from(dims)
                    );
                    return Err(shape_error(what, "axes of one label must have one size, or 1"));
                }
            }
        }
        Ok(())
    }
}

fn label_name(label: Label) -> String {
    match char::from_u32(label).filter(|_| label < ELLIPSIS) {
        Some(letter) => format!("label \"{letter}\""),
        None => "an axis of \"...\"".into(),
    }
}

#[cold]
fn shape_error(what: String, remedy: &'static str) -> Box<Error> {
    Box::new(Error::Shape { op: "einsum".into(), what, remedy })
}

/// The labels of one term; `...` stands for `rest` axes.
fn labels_of(term: &str, rest: usize) -> Result<Labels> {
    let mut labels = Labels::new();
    let mut left = term;
    while let Some(letter) = left.chars().next() {
        if let Some(behind) = left.strip_prefix("...") {
            labels.extend((0..rest as Label).rev().map(|k| ELLIPSIS + k));
            left = behind;
        } else if letter.is_ascii_alphabetic() {
            labels.push(letter as Label);
            left = &left[1..];
        } else {
            let what = format!("{letter:?} in the term \"{term}\"");
            return Err(shape_error(
                what,
                "use letters, commas, one \"...\" per term and one \"->\"",
            ));
        }
    }
    Ok(labels)
}

/// Number of `...` in a term. Most terms have none, which needs no search.
fn count_ellipses(term: &str) -> usize {
    if term.as_bytes().contains(&b'.') { term.matches("...").count() } else { 0 }
}

/// Number of axes that the `...` of a term covers, if it has one.
fn ellipsis_ndim(term: &str, index: usize, ndim: usize) -> Result<Option<usize>> {
    let named = term.bytes().filter(u8::is_ascii_alphabetic).count();
    let found = count_ellipses(term);
    if found > 1 {
        return Err(shape_error(
            format!("the term \"{term}\" has {found} \"...\""),
            "write \"...\" once per term",
        ));
    }
    if (found == 0 && named != ndim) || named > ndim {
        let what = format!("the term \"{term}\" names {named} axes and operand {index} has {ndim}");
        return Err(shape_error(what, "name every axis, or stand \"...\" for the others"));
    }
    Ok((found == 1).then_some(ndim - named))
}

/// The implicit output: `...`, then the labels that appear once.
fn implicit_output(inputs: &[Labels], rest: usize) -> Labels {
    let all: Vec<Label> = inputs.iter().flatten().copied().filter(|&l| l < ELLIPSIS).collect();
    let mut once: Labels =
        all.iter().copied().filter(|l| all.iter().filter(|k| *k == l).count() == 1).collect();
    once.sort_unstable();
    (0..rest as Label).rev().map(|k| ELLIPSIS + k).chain(once).collect()
}

fn explicit_output(text: &str, inputs: &[Labels], rest: usize) -> Result<Labels> {
    let found = count_ellipses(text);
    if found > 1 {
        let what = format!("the output \"{text}\" has {found} \"...\"");
        return Err(shape_error(
            what,
            "write \"...\" once in the output, or not at all to sum over it",
        ));
    }
    let labels = labels_of(text, rest)?;
    for (i, label) in labels.iter().enumerate() {
        if labels[..i].contains(label) {
            return Err(shape_error(
                format!("{} appears twice in the output", label_name(*label)),
                "name each axis of the result once",
            ));
        }
        if !inputs.iter().any(|input| input.contains(label)) {
            return Err(shape_error(
                format!("{} of the output is in no operand", label_name(*label)),
                "use labels of the operands",
            ));
        }
    }
    Ok(labels)
}

/// Parses subscripts against their operands.
pub(super) fn parse(text: &str, operands: &[Tensor]) -> Result<EinsumPlan> {
    let spaced = text.chars().any(char::is_whitespace);
    let text = match spaced {
        true => Cow::Owned(text.chars().filter(|c| !c.is_whitespace()).collect::<String>()),
        false => Cow::Borrowed(text),
    };
    let (left, right) = match text.as_bytes().windows(2).position(|two| two == b"->") {
        Some(at) => (&text[..at], Some(&text[at + 2..])),
        None => (&text[..], None),
    };
    let terms: SmallVec<[&str; 4]> = left.split(',').collect();
    if terms.len() != operands.len() || operands.is_empty() {
        let what = format!("\"{text}\" has {} terms for {} operands", terms.len(), operands.len());
        return Err(shape_error(what, "give one term per operand, separated by commas"));
    }
    let mut plan =
        EinsumPlan { inputs: SmallVec::new(), output: Labels::new(), sizes: SmallVec::new() };
    let mut rest = 0;
    for (index, (term, x)) in terms.iter().zip(operands).enumerate() {
        let covered = ellipsis_ndim(term, index, x.ndim())?.unwrap_or(0);
        rest = rest.max(covered);
        plan.inputs.push(labels_of(term, covered)?);
        plan.record_sizes(index, x.shape())?;
    }
    plan.output = match right {
        Some(right) => explicit_output(right, &plan.inputs, rest)?,
        None => implicit_output(&plan.inputs, rest),
    };
    Ok(plan)
}
