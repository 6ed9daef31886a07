//! `out=` and `name=`, which every operation takes.
//!
//! Invariant: a result that is part of a graph is never written to an array, where its history would be lost.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::array::broadcast_shapes;
use crate::bindings::errors::type_name;
use crate::bindings::errors::{bad_type, to_py_result, to_python};
use crate::bindings::interop::numpy;
use crate::bindings::object::{PyTensor, set_identity};
use crate::error::{Dims, Error};
use crate::ops::core::op_decl::{OpDecl, Returns};
use crate::ops::inplace::methods::{admit_dtype, put_result};
use crate::tensor::Tensor;

/// `out=` and `name=` of one call.
#[derive(Default)]
pub(crate) struct ResultOptions<'py> {
    out: Option<Bound<'py, PyAny>>,
    name: Option<String>,
}

impl<'py> ResultOptions<'py> {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.out.is_none() && self.name.is_none()
    }

    /// Takes a keyword that is no parameter; returns whether it was `out` or `name`.
    pub(crate) fn take(
        &mut self,
        decl: &OpDecl,
        key: &str,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<bool> {
        match key {
            "out" if is_no_output(value) => {}
            "out" if decl.returns != Returns::Bool => self.out = Some(value.clone()),
            "name" => self.set_name(decl, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(crate) fn set_name(&mut self, decl: &OpDecl, value: &Bound<'py, PyAny>) -> PyResult<()> {
        if value.is_none() {
            return Ok(());
        }
        match value.cast::<PyString>() {
            Ok(text) => self.name = Some(text.to_cow()?.into_owned()),
            Err(_) => {
                let what = format!("name is a {}", type_name(value));
                return Err(bad_type(decl.name, what, "pass a string as name"));
            }
        }
        Ok(())
    }

    /// Refuses both in an in-place call.
    pub(crate) fn refuse(self, decl: &OpDecl) -> PyResult<()> {
        if self.is_empty() {
            return Ok(());
        }
        let what = "out= and name= in a call that changes its tensor in place";
        Err(bad_type(decl.in_place.unwrap_or(decl.name), what, "leave them out"))
    }

    /// The tensor of `out=`, if there is one tensor and no `name=`.
    pub(crate) fn target(&self) -> Option<Bound<'py, PyTensor>> {
        let out = self.out.as_ref().filter(|_| self.name.is_none())?;
        let one = match out.cast::<PyTuple>() {
            Ok(outputs) if outputs.len() == 1 => outputs.get_item(0).ok()?,
            _ => out.clone(),
        };
        one.cast_into().ok()
    }

    /// Writes the result to `out=` and sets its name.
    #[cold]
    pub(crate) fn apply(
        self,
        decl: &OpDecl,
        result: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let result = match &self.out {
            Some(out) => write_results(decl, out, result)?,
            None => result,
        };
        if let Some(name) = &self.name
            && let Ok(object) = result.cast::<PyTensor>()
        {
            object.get().tensor.set_name(Some(name));
            set_identity(object)?;
        }
        Ok(result)
    }
}

/// Whether `out=` is None, which NumPy also spells as a tuple of None.
fn is_no_output(out: &Bound<'_, PyAny>) -> bool {
    let mut outputs = out.cast::<PyTuple>().into_iter().flatten();
    out.is_none() || (out.is_instance_of::<PyTuple>() && outputs.all(|output| output.is_none()))
}

/// Writes each result to its output; NumPy also passes one output as a tuple of one.
fn write_results<'py>(
    decl: &OpDecl,
    out: &Bound<'py, PyAny>,
    result: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let several = result.is_instance_of::<PyTuple>() || result.is_instance_of::<PyList>();
    let results: Vec<_> =
        if several { result.try_iter()?.collect::<PyResult<_>>()? } else { vec![result] };
    let outputs: Vec<_> = match out.cast::<PyTuple>() {
        Ok(outputs) => outputs.iter().collect(),
        Err(_) => vec![out.clone()],
    };
    if outputs.len() != results.len() {
        let what = format!("out holds {} places for {} results", outputs.len(), results.len());
        return Err(bad_type(decl.name, what, "give one place for each result"));
    }
    for (output, part) in outputs.iter().zip(&results) {
        write_result(decl, output, &part.cast::<PyTensor>()?.get().tensor)?;
    }
    Ok(if several { out.clone() } else { outputs[0].clone() })
}

/// Whether the result of a ufunc may be broadcast into a larger output.
fn broadcasts_to(decl: &OpDecl, result: &Tensor, output: &Tensor) -> bool {
    let common = broadcast_shapes(decl.name, &[result.shape(), output.shape()]);
    decl.facts.ufunc && common.is_ok_and(|shape| shape[..] == *output.shape())
}

/// Writes one result to a tensor, which is recorded, or to an array, if the result has no history.
fn write_result(decl: &OpDecl, output: &Bound<'_, PyAny>, result: &Tensor) -> PyResult<()> {
    let target = match output.cast::<PyTensor>() {
        Ok(tensor) => tensor.get().tensor.clone(),
        Err(_) if !numpy::is_array(output) => {
            let what = format!("out is a {}", type_name(output));
            return Err(bad_type(decl.name, what, "pass a tensor or an array as out"));
        }
        Err(_) if result.requires_grad() => {
            let remedy = "pass a tensor as out=, or leave it out";
            return Err(to_python(Box::new(Error::GraphCut { op: decl.name.into(), remedy })));
        }
        Err(_) => numpy::share(decl.name, output)?,
    };
    if target.shape() != result.shape() && !broadcasts_to(decl, result, &target) {
        let (have, want) = (Dims::from(target.shape()), Dims::from(result.shape()));
        return Err(to_python(Box::new(Error::Shape {
            op: decl.name.into(),
            what: format!("out has shape {have} and the result {want}"),
            remedy: if decl.facts.ufunc {
                "give an out of the result's shape, or one that the result broadcasts to"
            } else {
                "give an out of the result's shape"
            },
        })));
    }
    let admitted = admit_dtype(decl.name, &target, result);
    to_py_result(admitted.and_then(|()| put_result(decl.name, &target, result)))
}
