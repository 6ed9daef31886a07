//! What a Python backward returned, matched with the arguments of forward.
//!
//! Owns: the container rules of both faces, conversion of arrays and numbers, and the structure of nested arguments.
//! Never compares shapes itself: `ops::custom_op::Gradients` does, with document 000's messages.
//! Invariant: every returned gradient is looked at before the first is given to the engine.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;

use crate::bindings::call::convert::{tensor_of, weak_number};
use crate::bindings::custom_op::outputs::{as_tensor, is_numpy};
use crate::bindings::custom_op::python_rule::Trampoline;
use crate::bindings::custom_op::pytree::Tree;
use crate::bindings::errors::{from_python, type_name};
use crate::bindings::interop::numpy::is_scalar;
use crate::error::{Error, Result};
use crate::graph::{Context, Edges};
use crate::ops::core::broadcast::{astype, broadcast_to};
use crate::ops::custom_op::{Gradients, Spec, guard_edge};
use crate::tensor::Tensor;

pub(super) type Fitted = SmallVec<[(usize, Tensor); 2]>;

/// Takes over what one backward returned.
pub(super) struct ReturnedGradients<'a, 'py> {
    pub(super) rule: &'a Trampoline,
    /// Whether the results must refuse a second derivative.
    pub(super) once: bool,
    /// What backward was given.
    pub(super) grads: &'a [Bound<'py, PyAny>],
}

impl<'py> ReturnedGradients<'_, 'py> {
    /// Checks everything, and finds the gradients by the numbers of the inputs.
    #[inline]
    pub(super) fn find(&self, returned: &Bound<'py, PyAny>, fitted: &mut Fitted) -> Result<()> {
        let mut check = Gradients::new(&self.rule.name, self.rule.strict);
        if let ([slot], Some(_)) = (&self.rule.slots[..], as_tensor(returned)) {
            self.walk(0, slot, returned, &mut check, fitted)?;
        } else {
            let items = self.items(returned)?;
            let expected = self.rule.slots.len();
            let none = || items[expected..].iter().all(|ob| ob.is_none());
            check.count(expected, items.len(), none)?;
            for (i, (slot, ob)) in self.rule.slots.iter().zip(&items).enumerate() {
                self.walk(i, slot, ob, &mut check, fitted)?;
            }
        }
        check.finish()
    }

    /// Gives the gradients to the engine.
    #[inline]
    pub(super) fn give(&self, fitted: &mut Fitted, cx: &mut Context<'_, Tensor>) -> Result<()> {
        for (i, gradient) in fitted.drain(..) {
            if cx.wants(i) {
                let gradient = self.limit_history(gradient, cx);
                cx.give(i, gradient)?;
            }
        }
        Ok(())
    }

    /// One entry per argument.
    fn items(&self, returned: &Bound<'py, PyAny>) -> Result<SmallVec<[Bound<'py, PyAny>; 4]>> {
        let slots = &self.rule.slots;
        if let Ok(tuple) = returned.cast::<PyTuple>() {
            return Ok(tuple.iter().collect());
        }
        let nested = slots.len() == 1 && matches!(slots[0], Tree::Sequence(..));
        if let Ok(list) = returned.cast::<PyList>()
            && !nested
        {
            return Ok(list.iter().collect());
        }
        if returned.is_none() && self.rule.strict {
            let what = format!(
                "Backward pass returned null: the backward of {} returned None; return a sequence with one gradient \
                 or None for each input",
                self.rule.name
            );
            return Err(Box::new(Error::Contract { what }));
        }
        Ok(SmallVec::from_iter([returned.clone()]))
    }

    /// Collects the gradients of argument `index` from `ob`, which mirrors the argument.
    fn walk(
        &self,
        index: usize,
        slot: &Tree,
        ob: &Bound<'py, PyAny>,
        check: &mut Gradients<'_>,
        fitted: &mut Fitted,
    ) -> Result<()> {
        if ob.is_none() || matches!(slot, Tree::Array) {
            return Ok(());
        }
        match slot {
            Tree::Tensor(i) => {
                let spec = &self.rule.inputs[*i as usize];
                let gradient = self.gradient(index, ob, spec)?;
                if let Some(gradient) = check.fit(index, gradient, spec)? {
                    fitted.push((*i as usize, gradient));
                }
                Ok(())
            }
            Tree::Constant | Tree::Array => Err(self.wrong(
                index,
                "belongs to an argument that is not a tensor".into(),
                "return None for it",
            )),
            Tree::Sequence(sequence) => {
                let slots = &sequence.1;
                let parts = self.parts(index, ob, slots.len())?;
                slots
                    .iter()
                    .zip(&parts)
                    .try_for_each(|(s, p)| self.walk(index, s, p, check, fitted))
            }
            Tree::Mapping(slots) => {
                let Ok(dict) = ob.cast::<PyDict>() else {
                    let what = format!("is a {}, but the argument is a dict", type_name(ob));
                    return Err(self.wrong(index, what, "return a dict with its keys"));
                };
                for (key, slot) in slots.iter() {
                    let part = dict.get_item(key.bind(ob.py()));
                    if let Some(part) =
                        part.map_err(|raised| from_python(raised, self.rule.note()))?
                    {
                        self.walk(index, slot, &part, check, fitted)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// The entries of a sequence that mirrors an argument.
    fn parts(
        &self,
        index: usize,
        ob: &Bound<'py, PyAny>,
        expected: usize,
    ) -> Result<Vec<Bound<'py, PyAny>>> {
        let parts: Option<Vec<_>> = match (ob.cast::<PyTuple>(), ob.cast::<PyList>()) {
            (Ok(tuple), _) => Some(tuple.iter().collect()),
            (_, Ok(list)) => Some(list.iter().collect()),
            _ => None,
        };
        match parts {
            Some(parts) if parts.len() == expected => Ok(parts),
            Some(parts) => {
                let what = format!("has {} entries, but the argument has {expected}", parts.len());
                Err(self.wrong(index, what, "return one gradient or None for each entry"))
            }
            None => {
                let what = format!("is a {}, but the argument is a sequence", type_name(ob));
                Err(self.wrong(
                    index,
                    what,
                    "return a list or tuple with one gradient for each entry",
                ))
            }
        }
    }

    /// One gradient as a tensor.
    #[inline]
    fn gradient(&self, index: usize, ob: &Bound<'py, PyAny>, spec: &Spec) -> Result<Tensor> {
        if let Some(tensor) = as_tensor(ob) {
            return Ok(tensor.clone().writable());
        }
        self.converted(index, ob, spec)
    }

    #[cold]
    fn converted(&self, index: usize, ob: &Bound<'py, PyAny>, spec: &Spec) -> Result<Tensor> {
        let python = |raised| from_python(raised, self.rule.note());
        if let Some(number) = weak_number(ob).map_err(python)? {
            let number = astype(&Tensor::scalar(number), spec.dtype)?;
            // A number stands for itself at every element; document 000 wants equal shapes.
            return if self.rule.strict { Ok(number) } else { broadcast_to(&number, &spec.dims) };
        }
        if is_numpy(ob).map_err(python)? {
            let gradient = tensor_of(&self.rule.name, "a gradient", ob).map_err(python)?;
            let number = !self.rule.strict && is_scalar(ob).map_err(python)?;
            return if number { broadcast_to(&gradient, &spec.dims) } else { Ok(gradient) };
        }
        let what = format!("is a {}", type_name(ob));
        Err(self.wrong(index, what, "return a tensor, an array, a number or None"))
    }

    #[cold]
    fn wrong(&self, index: usize, what: String, remedy: &'static str) -> Box<Error> {
        Box::new(Error::ArgumentType {
            op: format!("the backward of {}", self.rule.name).into(),
            what: format!("Gradient at index {index} {what}"),
            remedy: remedy.into(),
        })
    }

    /// The gradient with the history this pass allows.
    #[inline]
    fn limit_history(&self, gradient: Tensor, cx: &Context<'_, Tensor>) -> Tensor {
        if !self.once {
            return if cx.create_graph() || !gradient.requires_grad() {
                gradient
            } else {
                gradient.detach()
            };
        }
        let mut inputs: Edges<Tensor> = cx.node().edges().iter().cloned().collect();
        inputs.extend(self.grads.iter().filter_map(as_tensor).map(Tensor::grad_edge));
        let edge = guard_edge(
            self.rule.name.to_string().into(),
            "trying to differentiate twice a function whose backward is marked with once_differentiable"
                .into(),
            "write backward with tensor operations and take the mark away",
            inputs,
        );
        gradient.detach().attach(edge)
    }
}
