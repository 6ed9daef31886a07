//! The `jvp` of a custom function written in Python: from the tangents of its arguments to those of its outputs.
//! Without one, its backward is transposed.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::bindings::call::convert::tensor_of;
use crate::bindings::call::thread_state::ThreadStateGuard;
use crate::bindings::custom_op::context_saved::RunningBackward;
use crate::bindings::custom_op::python_rule::{Callee, PythonRule};
use crate::bindings::custom_op::tensor_slots::{Slot, SlotTree};
use crate::bindings::errors::from_python;
use crate::bindings::object::wrap_read_only;
use crate::error::{Dims, Error, Result};
use crate::graph::{Context, Value};
use crate::ops::core::broadcast::astype;
use crate::ops::core::shape_dtype::ShapeDType;
use crate::tensor::Tensor;

type Cx<'a> = Context<'a, Tensor>;

impl PythonRule {
    /// Calls the `jvp` of the class, once for each column of a batch; false if it has none.
    pub(super) fn run_jvp(&self, py: Python<'_>, cx: &mut Cx<'_>) -> Result<bool> {
        let raised = |error| from_python(error, format!("raised in the jvp of {}", self.name));
        let Callee::Class(class) = &self.callee else { return Ok(false) };
        let name = pyo3::intern!(py, "jvp");
        let Some(function) = class.bind(py).getattr_opt(name).map_err(raised)? else {
            return Ok(false);
        };
        let tangents: Vec<Option<Tensor>> =
            (0..self.inputs.len()).map(|i| cx.take_grad(i)).collect();
        let outputs = match *cx.batch() {
            [columns] => {
                let mut rows = vec![Vec::new(); self.outputs.len()];
                for k in 0..columns {
                    let row = |t: &Option<Tensor>| t.as_ref().map(|t| t.row(k)).transpose();
                    let row = tangents.iter().map(row).collect::<Result<Vec<_>>>()?;
                    let found = self.call_jvp(py, &function, row, cx)?;
                    rows.iter_mut().zip(found).for_each(|(rows, found)| rows.push(found));
                }
                rows.into_iter().map(Tensor::batched).collect::<Result<Vec<_>>>()?
            }
            _ => self.call_jvp(py, &function, tangents, cx)?,
        };
        for (k, tangent) in outputs.into_iter().enumerate() {
            if let Some(tangent) = tangent {
                cx.give(k, tangent)?;
            }
        }
        Ok(true)
    }

    /// The tangents of the outputs; `None` for zero ones.
    fn call_jvp(
        &self,
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        tangents: Vec<Option<Tensor>>,
        cx: &Cx<'_>,
    ) -> Result<Vec<Option<Tensor>>> {
        let raised = |error| from_python(error, format!("raised in the jvp of {}", self.name));
        let argument = |slot: &SlotTree| match slot {
            SlotTree::Leaf(Slot::Tensor(i)) => {
                let (i, spec) = (*i as usize, &self.inputs[*i as usize]);
                match &tangents[i] {
                    Some(tangent) => wrap_read_only(py, tangent.clone()),
                    None if self.raw_absent || !spec.dtype.is_inexact() => {
                        Ok(py.None().into_bound(py))
                    }
                    None => wrap_read_only(py, spec.zeros()?),
                }
            }
            _ => Ok(py.None().into_bound(py)),
        };
        let arguments = self.slots.iter().map(argument).collect::<PyResult<Vec<_>>>();
        let arguments = arguments.map_err(raised)?;
        let saved = self.restore(py, cx)?;
        let context = self.context.get();
        let has = |slot: &Slot| matches!(slot, Slot::Tensor(i) if tangents[*i as usize].is_some());
        let needs = self.slots.iter().map(|slot| slot.any(&has)).collect();
        context.begin_backward(RunningBackward::new(saved, needs));
        let returned = {
            let _state = ThreadStateGuard::new(py);
            let all = std::iter::once(self.context.bind(py).as_any()).chain(&arguments);
            PyTuple::new(py, all.collect::<Vec<_>>()).and_then(|all| function.call1(all))
        };
        context.end_backward();
        self.check_tangents(&returned.map_err(raised)?)
    }

    /// What `jvp` returned: one tangent, or None, for each output.
    fn check_tangents(&self, returned: &Bound<'_, PyAny>) -> Result<Vec<Option<Tensor>>> {
        let items: Vec<Bound<'_, PyAny>> =
            match (returned.cast::<PyTuple>(), returned.cast::<PyList>()) {
                (Ok(tuple), _) => tuple.iter().collect(),
                (_, Ok(list)) => list.iter().collect(),
                _ => vec![returned.clone()],
            };
        if items.len() != self.outputs.len() {
            return Err(self.contract(format!(
                "the jvp of {} returned {} tangents, but forward has {} outputs; return one tangent, or None, for each \
                 output",
                self.name,
                items.len(),
                self.outputs.len()
            )));
        }
        let numbered = items.iter().zip(&self.outputs).enumerate();
        numbered.map(|(k, (item, spec))| self.check_tangent(k, item, spec)).collect()
    }

    fn check_tangent(
        &self,
        k: usize,
        item: &Bound<'_, PyAny>,
        spec: &ShapeDType,
    ) -> Result<Option<Tensor>> {
        if item.is_none() || !spec.dtype.is_inexact() {
            return Ok(None);
        }
        let raised = |error| from_python(error, format!("raised in the jvp of {}", self.name));
        let op = format!("the jvp of {}", self.name);
        let tangent = tensor_of(&op, "a tangent", item).map_err(raised)?;
        if tangent.shape() != &spec.dims[..] {
            return Err(self.contract(format!(
                "the jvp of {} returned a tangent of shape {} for output {k} of shape {}; return one of the output's \
                 shape",
                self.name,
                Dims::from(tangent.shape()),
                Dims::from(&spec.dims[..]),
            )));
        }
        astype(&tangent, spec.dtype).map(Some)
    }

    #[cold]
    fn contract(&self, what: String) -> Box<Error> {
        Box::new(Error::Contract { what })
    }
}
