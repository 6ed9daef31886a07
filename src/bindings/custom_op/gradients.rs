//! Matches what a Python backward returned with the arguments of forward. All gradients are checked before the first is
//! passed to the engine.

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;

use crate::bindings::call::convert::{tensor_of, weak_number};
use crate::bindings::custom_op::outputs::{as_tensor, is_numpy};
use crate::bindings::custom_op::python_rule::PythonRule;
use crate::bindings::custom_op::tensor_slots::{Slot, SlotTree};
use crate::bindings::errors::{from_python, type_name};
use crate::bindings::interop::numpy::is_scalar;
use crate::bindings::pytree::Node;
use crate::error::{Error, Result};
use crate::graph::{Context, Edges};
use crate::ops::core::broadcast::{astype, broadcast_to};
use crate::ops::core::shape_dtype::ShapeDType;
use crate::ops::custom_op::{GradientCheck, guard_edge};
use crate::tensor::Tensor;

pub(super) type CheckedGradients = SmallVec<[(usize, Tensor); 2]>;

/// Processes the return value of one backward.
pub(super) struct ReturnedGradients<'a, 'py> {
    pub(super) rule: &'a PythonRule,
    /// Whether a second derivative must be refused (`once_differentiable`).
    pub(super) once: bool,
    /// The gradients that backward received.
    pub(super) grads: &'a [Bound<'py, PyAny>],
}

impl<'py> ReturnedGradients<'_, 'py> {
    /// Checks the returned value and collects the gradients by input number.
    #[inline]
    pub(super) fn collect_all(
        &self,
        returned: &Bound<'py, PyAny>,
        checked: &mut CheckedGradients,
    ) -> Result<()> {
        let mut check = GradientCheck::new(&self.rule.name, self.rule.custom_function_rules);
        if let ([slot], Some(_)) = (&self.rule.slots[..], as_tensor(returned)) {
            self.collect(0, slot, returned, &mut check, checked)?;
        } else {
            let items = self.items(returned)?;
            let expected = self.rule.slots.len();
            let none = || items[expected..].iter().all(|ob| ob.is_none());
            check.count(expected, items.len(), none)?;
            for (i, (slot, ob)) in self.rule.slots.iter().zip(&items).enumerate() {
                self.collect(i, slot, ob, &mut check, checked)?;
            }
        }
        check.finish()
    }

    /// Passes the gradients to the engine.
    #[inline]
    pub(super) fn pass_to_engine(
        &self,
        checked: &mut CheckedGradients,
        cx: &mut Context<'_, Tensor>,
    ) -> Result<()> {
        for (i, gradient) in checked.drain(..) {
            if cx.wants(i) {
                let gradient = self.limit_history(gradient, cx);
                cx.give(i, gradient)?;
            }
        }
        Ok(())
    }

    /// The returned value as one entry per argument.
    fn items(&self, returned: &Bound<'py, PyAny>) -> Result<SmallVec<[Bound<'py, PyAny>; 4]>> {
        let slots = &self.rule.slots;
        if let Ok(tuple) = returned.cast::<PyTuple>() {
            return Ok(tuple.iter().collect());
        }
        let is_sequence =
            |slot: &SlotTree| matches!(slot, SlotTree::Node(node) if node.container.is_sequence());
        let nested = slots.len() == 1 && is_sequence(&slots[0]);
        if let Ok(list) = returned.cast::<PyList>()
            && !nested
        {
            return Ok(list.iter().collect());
        }
        if returned.is_none() && self.rule.custom_function_rules {
            let what = format!(
                "Backward pass returned null: the backward of {} returned None; return a sequence with one gradient \
                 or None for each input",
                self.rule.name
            );
            return Err(Box::new(Error::Contract { what }));
        }
        Ok(SmallVec::from_iter([returned.clone()]))
    }

    /// Collects the gradients of argument `index` from `ob`, which must have the argument's structure.
    fn collect(
        &self,
        index: usize,
        slot: &SlotTree,
        ob: &Bound<'py, PyAny>,
        check: &mut GradientCheck<'_>,
        checked: &mut CheckedGradients,
    ) -> Result<()> {
        if ob.is_none() || matches!(slot, SlotTree::Leaf(Slot::Array)) {
            return Ok(());
        }
        match slot {
            SlotTree::Leaf(Slot::Tensor(i)) => {
                let spec = &self.rule.inputs[*i as usize];
                let gradient = self.gradient(index, ob, spec)?;
                if let Some(gradient) = check.fit(index, gradient, spec)? {
                    checked.push((*i as usize, gradient));
                }
                Ok(())
            }
            SlotTree::Leaf(_) | SlotTree::Empty => Err(self.wrong_gradient(
                index,
                "belongs to an argument that is not a tensor".into(),
                "return None for it",
            )),
            SlotTree::Node(node) => {
                let parts = if node.container.is_sequence() {
                    self.parts(index, ob, node.children.len())?
                } else {
                    self.named_parts(index, ob, node)?
                };
                let mut pairs = node.children.iter().zip(&parts);
                pairs.try_for_each(|(slot, part)| self.collect(index, slot, part, check, checked))
            }
        }
    }

    /// The entries of a sequence that has the structure of an argument.
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
                Err(self.wrong_gradient(index, what, "return one gradient or None for each entry"))
            }
            None => {
                let what = format!("is a {}, but the argument is a sequence", type_name(ob));
                Err(self.wrong_gradient(
                    index,
                    what,
                    "return a list or tuple with one gradient for each entry",
                ))
            }
        }
    }

    /// The entries of a dict or a dataclass that has the structure of an argument; None for a key that is not there.
    fn named_parts(
        &self,
        index: usize,
        ob: &Bound<'py, PyAny>,
        node: &Node<Slot>,
    ) -> Result<Vec<Bound<'py, PyAny>>> {
        let (py, container) = (ob.py(), &node.container);
        let class = container.class(py);
        let fits = match container.is_mapping() {
            true => ob.is_instance_of::<PyDict>(),
            false => ob.is_instance(&class).unwrap_or(false),
        };
        if !fits {
            let (name, remedy) = match container.is_mapping() {
                true => ("dict".to_owned(), "return a dict with its keys"),
                false => (
                    class.name().map_or_else(|_| "dataclass".into(), |name| name.to_string()),
                    "return one with a gradient or None in each field",
                ),
            };
            let what = format!("is a {}, but the argument is a {name}", type_name(ob));
            return Err(self.wrong_gradient(index, what, remedy));
        }
        let part = |i| match container.item(ob, i) {
            Err(error) if error.is_instance_of::<PyKeyError>(py) => Ok(py.None().into_bound(py)),
            part => part.map_err(|raised| from_python(raised, self.rule.note())),
        };
        (0..node.children.len()).map(part).collect()
    }

    /// Converts one gradient to a tensor.
    #[inline]
    fn gradient(&self, index: usize, ob: &Bound<'py, PyAny>, spec: &ShapeDType) -> Result<Tensor> {
        if let Some(tensor) = as_tensor(ob) {
            return Ok(tensor.clone().writable());
        }
        self.convert_gradient(index, ob, spec)
    }

    #[cold]
    fn convert_gradient(
        &self,
        index: usize,
        ob: &Bound<'py, PyAny>,
        spec: &ShapeDType,
    ) -> Result<Tensor> {
        let foreign_error = |raised| from_python(raised, self.rule.note());
        if let Some(number) = weak_number(ob).map_err(foreign_error)? {
            let number = astype(&Tensor::scalar(number), spec.dtype)?;
            // A number is broadcast; the `CustomFunction` spec wants equal shapes.
            return if self.rule.custom_function_rules {
                Ok(number)
            } else {
                broadcast_to(&number, &spec.dims)
            };
        }
        if is_numpy(ob).map_err(foreign_error)? {
            let gradient = tensor_of(&self.rule.name, "a gradient", ob).map_err(foreign_error)?;
            let number =
                !self.rule.custom_function_rules && is_scalar(ob).map_err(foreign_error)?;
            return if number { broadcast_to(&gradient, &spec.dims) } else { Ok(gradient) };
        }
        let what = format!("is a {}", type_name(ob));
        Err(self.wrong_gradient(index, what, "return a tensor, an array, a number or None"))
    }

    #[cold]
    fn wrong_gradient(&self, index: usize, what: String, remedy: &'static str) -> Box<Error> {
        Box::new(Error::ArgumentType {
            op: format!("the backward of {}", self.rule.name).into(),
            what: format!("Gradient at index {index} {what}"),
            remedy: remedy.into(),
        })
    }

    /// Removes the gradient's history, unless this pass creates a graph.
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
