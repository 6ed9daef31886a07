//! One call of a custom function: runs forward with recording off, then records the node and attaches the outputs.
//!
//! Invariant: the edges of the inputs are taken before forward runs (an in-place change moves them), and nothing is
//! recorded if it fails.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use crate::bindings::call::entry::existing_dict;
use crate::bindings::call::thread_state::check_stack;
use crate::bindings::custom_op::arguments::Arguments;
use crate::bindings::custom_op::class_info::ClassInfo;
use crate::bindings::custom_op::context::{Declared, FunctionContext, MarkedTensors, ToSave};
use crate::bindings::custom_op::context_saved::{SavedObjectRefs, weak_ref};
use crate::bindings::custom_op::outputs::{
    OutputKind, OutputObjects, output_object, rebuild_outputs,
};
use crate::bindings::custom_op::outputs::{Outputs, as_tensor};
use crate::bindings::custom_op::python_rule::{Callee, PythonRule};
use crate::bindings::custom_op::tensor_slots::{Slot, SlotTree};
use crate::bindings::custom_op::traced_host_callback::{HostStep, make_host_step};
use crate::bindings::errors::{to_py_result, to_python};
use crate::bindings::object::python_rule_count::PythonRuleCount;
use crate::bindings::object::wrap;
use crate::compile::host_call::HostSpan;
use crate::dtype::DType;
use crate::error::Error;
use crate::graph::{DUAL, Flags, Mode, ModeGuard, SavedValues, forward_ad};
use crate::ops::core::shape_dtype::ShapeDType;
use crate::ops::custom_op::{FunctionCall, SavedKind, SavedRole};
use crate::ops::inplace::methods;
use crate::tensor::{Node, Tensor};

pub(super) struct CustomCall<'a, 'py> {
    pub(super) info: &'a ClassInfo,
    pub(super) arguments: Arguments<'py>,
    pub(super) callee: Callee,
    /// Returns what a traced program must call to repeat this call as a host callback; None if it cannot be repeated.
    pub(super) replay: Option<ReplayFn<'a, 'py>>,
    /// Whether the rules of `CustomFunction` apply (sequences of tensors, equal shapes).
    pub(super) custom_function_rules: bool,
}

pub(super) type OutputKinds = SmallVec<[OutputKind; 2]>;
/// Returns a callable with its arguments.
pub(super) type ReplayFn<'a, 'py> = &'a dyn Fn() -> PyResult<ReplayCall<'py>>;
/// A callable, its positional and its keyword arguments.
pub(super) type ReplayCall<'py> =
    (Bound<'py, PyAny>, Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>);
/// What forward declared and returned, its outputs, and the host-callback step that repeats the call.
type ForwardResult<'a, 'py> =
    (Declared, &'a Bound<'py, PyAny>, Outputs<'py>, Option<HostStep<'py>>);
/// Versions of the tensor arguments before forward ran.
pub(super) type Versions = SmallVec<[u32; 3]>;

/// The saved values of the node.
#[derive(Default)]
struct SavedEntries {
    values: SavedValues<Tensor>,
    saved_kinds: SmallVec<[SavedKind; 4]>,
    originals: SavedObjectRefs,
}

impl SavedEntries {
    fn push(&mut self, role: SavedRole, ob: &Bound<'_, PyAny>) {
        let Some(tensor) = as_tensor(ob) else {
            self.values.push(crate::graph::Saved::None);
            self.originals.push(None);
            return self.saved_kinds.push(SavedKind::Nothing);
        };
        // The caller's output is another object than the one that forward saved.
        let fresh = matches!(role, SavedRole::Output(_));
        self.originals.push(if fresh { None } else { weak_ref(ob, tensor) });
        self.values.push(role.save(tensor));
        self.saved_kinds.push(role.kind(tensor));
    }
}

impl<'py> CustomCall<'_, 'py> {
    /// Calls `forward`, records the node, and returns the outputs in the structure that forward returned.
    #[inline]
    pub(super) fn run(
        self,
        py: Python<'py>,
        forward: impl FnOnce(&Bound<'py, FunctionContext>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        check_stack(&self.info.name)?;
        let call = FunctionCall::begin(self.arguments.values());
        let slots = &self.arguments.slots;
        let is_needed = |slot: &Slot| matches!(slot, Slot::Tensor(i) if call.needs(*i as usize));
        let needs = slots.iter().map(|slot| slot.any(&is_needed)).collect();
        let arrays = self.arguments.arrays.clone();
        let context = Bound::new(py, FunctionContext::for_call(needs, self.info.once, arrays))?;
        let before: Versions = self.arguments.values().map(Tensor::version).collect();
        let host_span = self.replay.and_then(|_| HostSpan::begin(self.arguments.values()));
        let returned = {
            let _off = ModeGuard::forward();
            forward(&context)
        };
        let op = &self.info.name;
        let returned = returned.inspect_err(|raised| {
            // An exception that takes no note is raised without it.
            let _ = raised.add_note(py, format!("raised in the forward of {op}").as_str());
        })?;
        let many = self.custom_function_rules && !matches!(self.callee, Callee::Op { .. });
        let outputs =
            if many { Outputs::find_strict(op, &returned)? } else { Outputs::find(op, &returned)? };
        let declared = context.get().take_declared(call.recorded());
        self.check_versions(&call, &before, &declared.marks)?;
        let kinds = self.kinds(&call, &outputs, &declared.marks, &before)?;
        let host_step = match host_span {
            Some(host_span) => {
                make_host_step(&self, &call, host_span, &before, (&returned, &outputs))?
            }
            None => None,
        };
        if kinds.iter().any(|kind| matches!(kind, OutputKind::Differentiable | OutputKind::Dirty))
            && call.recorded()
        {
            let made = (declared, &returned, outputs, host_step);
            return self.record(call, &context, made, &kinds);
        }
        rebuild_outputs(py, &outputs.tree, &returned, &mut |k| match (&host_step, kinds[k]) {
            (Some(host_step), _) => Ok(host_step.outputs[k].clone().unbind()),
            (None, OutputKind::Alias) => Ok(wrap(py, outputs.tensor(k)?.detached())?.unbind()),
            (None, _) => Ok(outputs.tensors[k].clone().unbind()),
        })
    }

    /// Decides the kind of each output.
    fn kinds(
        &self,
        call: &FunctionCall,
        outputs: &Outputs<'py>,
        marks: &MarkedTensors,
        before: &Versions,
    ) -> PyResult<OutputKinds> {
        let mut kinds = OutputKinds::new();
        for (k, y) in outputs.tensors.iter().enumerate() {
            let tensor = outputs.tensor(k)?;
            let listed = |list: &[Py<PyAny>]| list.iter().any(|ob| ob.is(y));
            let varies =
                call.recorded() && tensor.dtype().is_inexact() && !listed(&marks.constants);
            let argument = self.arguments.position(y.as_any().as_unbound()).is_some();
            kinds.push(if listed(&marks.dirty) {
                OutputKind::Dirty
            } else if varies {
                OutputKind::Differentiable
            } else if argument || tensor.requires_grad() {
                OutputKind::Alias
            } else {
                OutputKind::Constant
            });
        }
        for dirty in &marks.dirty {
            self.check_dirty(call, outputs, dirty, before)?;
        }
        Ok(kinds)
    }

    /// Refuses an undeclared in-place change of an argument: its gradient would be wrong.
    fn check_versions(
        &self,
        call: &FunctionCall,
        before: &Versions,
        marks: &MarkedTensors,
    ) -> PyResult<()> {
        let changed = |i: usize, x: &Tensor| {
            let declared = || marks.dirty.iter().filter_map(|ob| self.arguments.position(ob));
            let tensor = |k: usize| as_tensor(&self.arguments.tensors[k]);
            call.needs(i)
                && x.version() != before[i]
                && !declared().filter_map(tensor).any(|y| y.storage().same(x.storage()))
        };
        match self.arguments.values().enumerate().find(|(i, x)| changed(*i, x)) {
            None => Ok(()),
            Some((i, _)) => Err(to_python(Box::new(Error::InPlace {
                op: self.info.name.to_string().into(),
                what: format!("forward changed tensor argument {i} in place without declaring it"),
                remedy: "call ctx.mark_dirty(x) and return x, or compute a new tensor",
            }))),
        }
    }

    fn check_dirty(
        &self,
        call: &FunctionCall,
        outputs: &Outputs<'py>,
        ob: &Py<PyAny>,
        before: &Versions,
    ) -> PyResult<()> {
        let refuse = |what: &str, remedy: &'static str| {
            let op = self.info.name.to_string().into();
            Err(to_python(Box::new(Error::InPlace { op, what: what.into(), remedy })))
        };
        let Some(i) = self.arguments.position(ob) else {
            return refuse("mark_dirty names a tensor that is no argument", "mark arguments only");
        };
        if outputs.position(ob).is_none() {
            return refuse(
                "an argument marked dirty was not returned",
                "return from forward every tensor that mark_dirty names",
            );
        }
        let Some(tensor) = as_tensor(&self.arguments.tensors[i]) else { return Ok(()) };
        if call.needs(i) && tensor.is_leaf() {
            return refuse(
                "a leaf that requires grad was changed in place",
                "work on a clone() of it",
            );
        }
        if call.recorded() {
            to_py_result(methods::admit_history("mark_dirty", tensor))?;
        }
        if tensor.version() == before[i] {
            tensor.storage().invalidate_saved();
            tensor.changed_in_place(self.info.static_name());
        } else {
            tensor.set_last_writer(self.info.static_name());
        }
        Ok(())
    }

    fn record(
        self,
        call: FunctionCall,
        context: &Bound<'py, FunctionContext>,
        (declared, returned, outputs, host_step): ForwardResult<'_, 'py>,
        kinds: &OutputKinds,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = context.py();
        if !self.info.differentiable {
            return Err(self.no_backward());
        }
        let entries = self.save(context, declared.to_save, &outputs, kinds)?;
        let Outputs { tensors: returned_tensors, tree } = outputs;
        let (tensors, host_step) = match host_step {
            Some(HostStep { outputs, call }) => (outputs, Some(call)),
            None => (returned_tensors.clone(), None),
        };
        let (custom_function_rules, info) = (self.custom_function_rules, self.info);
        let is_single = matches!(tree, SlotTree::Leaf(Slot::Tensor(_)));
        let tree = (!is_single).then(|| Arc::new(tree));
        let rule = PythonRule {
            name: self.info.name.clone(),
            callee: self.callee,
            context: context.clone().unbind(),
            slots: self.arguments.slots,
            inputs: self.arguments.tensors.iter().filter_map(spec_of).collect(),
            outputs: tensors.iter().filter_map(spec_of).collect(),
            tree: tree.clone(),
            saved_kinds: entries.saved_kinds,
            host_step,
            reads_values: self.info.reads_values.clone(),
            raw_absent: declared.raw_absent,
            custom_function_rules: self.custom_function_rules,
            _count: PythonRuleCount::new(),
        };
        let node =
            call.record(Box::new(rule), entries.values, tensors.len(), Flags::HOST_OBJECTS)?;
        context.get().set_node(node.id(), entries.originals);
        let node = with_tangents(node, &tensors)?;
        let inputs = &self.arguments.tensors;
        let mut objects = OutputObjects::default();
        let mut leaf = |k: usize| {
            let make = || output_object(&node, info, &tensors[k], k, kinds[k], inputs);
            objects.get_or_make(&returned_tensors, k, custom_function_rules, make)
        };
        match &tree {
            None => Ok(leaf(0)?.into_bound(py)),
            Some(tree) => rebuild_outputs(py, tree, returned, &mut leaf),
        }
    }

    /// Classifies the saved tensors, including attributes of the context that are outputs.
    fn save(
        &self,
        context: &Bound<'py, FunctionContext>,
        to_save: ToSave,
        outputs: &Outputs<'py>,
        kinds: &OutputKinds,
    ) -> PyResult<SavedEntries> {
        let py = context.py();
        let mut entries = SavedEntries::default();
        for ob in to_save {
            entries.push(self.role(&ob, outputs, kinds), ob.bind(py));
        }
        let attributes = existing_dict(context.as_any());
        let Some(attributes) = attributes.filter(|attributes| !attributes.is_empty()) else {
            return Ok(entries);
        };
        for (name, value) in attributes.copy()?.iter() {
            let role = match as_tensor(&value) {
                Some(_) => self.role(value.as_unbound(), outputs, kinds),
                None => continue,
            };
            if let SavedRole::Output(_) = role {
                context.get().move_attribute(name.extract()?, entries.saved_kinds.len());
                entries.push(role, &value);
                attributes.del_item(name)?;
            }
        }
        Ok(entries)
    }

    /// The role of a saved object: input, output or intermediate.
    fn role(&self, ob: &Py<PyAny>, outputs: &Outputs<'py>, kinds: &OutputKinds) -> SavedRole {
        let place = outputs.position(ob);
        let argument = self.arguments.position(ob);
        match (argument, place) {
            (_, Some(k)) if kinds[k] == OutputKind::Dirty => SavedRole::Output(k as u32),
            (Some(i), _) => SavedRole::Input(i as u32),
            (None, Some(k)) if kinds[k] == OutputKind::Differentiable => {
                SavedRole::Output(k as u32)
            }
            _ => SavedRole::Other,
        }
    }

    #[cold]
    fn no_backward(&self) -> PyErr {
        to_python(Box::new(Error::NotDifferentiable {
            op: self.info.name.to_string().into(),
            what: "the class has no backward and an argument requires grad".into(),
            remedy: "define a static backward(ctx, *grads), or call it under no_grad()".into(),
        }))
    }
}

/// The shape and dtype of a tensor.
fn spec_of(ob: &Bound<'_, PyAny>) -> Option<ShapeDType> {
    as_tensor(ob).map(ShapeDType::of)
}

/// The node for the outputs, with their tangents in forward mode. Outputs that are no tensors have none.
fn with_tangents(node: Node, outputs: &[Bound<'_, PyAny>]) -> PyResult<Node> {
    if !Mode::current().has(DUAL) {
        return Ok(node);
    }
    let value = |output: &Bound<'_, PyAny>| match as_tensor(output) {
        Some(tensor) => Ok(tensor.detach()),
        None => Tensor::zeros(&[], DType::Bool),
    };
    let values: Result<Vec<Tensor>, _> = outputs.iter().map(value).collect();
    to_py_result(values.and_then(|values| forward_ad::with_tangents(node, &values)))
}
