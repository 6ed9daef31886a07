//! One call: run forward with recording off, then record the node and hand out fresh outputs.
//!
//! Owns: the order of the steps and what each output becomes. Never analyses a class or looks for tensors.
//! Invariant: the edges of the inputs are taken before forward runs, and nothing is recorded when it fails.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use crate::bindings::call::entry::existing_dict;
use crate::bindings::call::thread_state::room;
use crate::bindings::custom_op::arguments::Arguments;
use crate::bindings::custom_op::class_info::Form;
use crate::bindings::custom_op::context::{Declared, FunctionContext, MarkedTensors, ToSave};
use crate::bindings::custom_op::host_function::{Repeated, repeat};
use crate::bindings::custom_op::outputs::{Outputs, as_tensor};
use crate::bindings::custom_op::python_rule::{Callee, Trampoline};
use crate::bindings::custom_op::pytree::Tree;
use crate::bindings::custom_op::results::{OutputKind, OutputObjects, attach, build};
use crate::bindings::custom_op::saved::{Originals, original};
use crate::bindings::errors::{python, to_python};
use crate::bindings::object::python_rule_count::Counted;
use crate::bindings::object::wrap;
use crate::compile::host_call::HostSpan;
use crate::error::Error;
use crate::graph::{Flags, ModeGuard, SavedValues};
use crate::ops::custom_op::{FunctionCall, SavedKind, SavedRole, Spec};
use crate::ops::inplace::methods;
use crate::tensor::Tensor;

/// A call that is being made.
pub(super) struct Job<'a, 'py> {
    pub(super) form: &'a Form,
    pub(super) arguments: Arguments<'py>,
    /// What backward is called on.
    pub(super) callee: Callee,
    /// What is called to make the same call again, with which arguments; `None` where it must not be made again.
    pub(super) again: Option<Again<'a, 'py>>,
    /// Document 000's rules.
    pub(super) strict: bool,
}

pub(super) type OutputKinds = SmallVec<[OutputKind; 2]>;
/// Finds what is called to make a call again.
pub(super) type Again<'a, 'py> = &'a dyn Fn() -> PyResult<AgainCall<'py>>;
/// A callable, its arguments and its keyword arguments.
pub(super) type AgainCall<'py> =
    (Bound<'py, PyAny>, Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>);
/// What forward declared, what it returned, the outputs in that, and the step that repeats it.
type MadeByForward<'a, 'py> =
    (Declared, &'a Bound<'py, PyAny>, Outputs<'py>, Option<Repeated<'py>>);
/// Of the tensor arguments before forward ran.
pub(super) type Versions = SmallVec<[u32; 3]>;

/// What the node will keep.
#[derive(Default)]
struct SavedEntries {
    values: SavedValues<Tensor>,
    saved_kinds: SmallVec<[SavedKind; 4]>,
    originals: Originals,
}

impl SavedEntries {
    fn push(&mut self, role: SavedRole, ob: &Bound<'_, PyAny>) {
        let Some(tensor) = as_tensor(ob) else {
            self.values.push(crate::graph::Saved::None);
            self.originals.push(None);
            return self.saved_kinds.push(SavedKind::Nothing);
        };
        // An output that the caller receives is another object than the one that forward saved.
        let fresh = matches!(role, SavedRole::Output(_));
        self.originals.push(if fresh { None } else { original(ob, tensor) });
        self.values.push(role.save(tensor));
        self.saved_kinds.push(role.kind(tensor));
    }
}

impl<'py> Job<'_, 'py> {
    /// Calls `forward` and returns its outputs in the structure it gave them.
    #[inline]
    pub(super) fn run(
        self,
        py: Python<'py>,
        forward: impl FnOnce(&Bound<'py, FunctionContext>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        room(&self.form.name)?;
        let call = FunctionCall::begin(self.arguments.values());
        let slots = &self.arguments.slots;
        let needs = slots.iter().map(|slot| slot.any(&|i| call.needs(i as usize))).collect();
        let arrays = self.arguments.arrays.clone();
        let context = Bound::new(py, FunctionContext::for_call(needs, self.form.once, arrays))?;
        let before: Versions = self.arguments.values().map(Tensor::version).collect();
        let stretch = self.again.and_then(|_| HostSpan::begin(self.arguments.values()));
        let returned = {
            let _off = ModeGuard::forward();
            forward(&context)
        };
        let op = &self.form.name;
        let returned = returned.inspect_err(|raised| {
            // A note is a courtesy: an exception that takes none is raised without it.
            let _ = raised.add_note(py, format!("raised in the forward of {op}").as_str());
        })?;
        let many = self.strict && !matches!(self.callee, Callee::Op { .. });
        let outputs =
            if many { Outputs::strict(op, &returned)? } else { Outputs::find(op, &returned)? };
        let declared = context.get().take_declared(call.recorded());
        self.check_versions(&call, &before, &declared.marks)?;
        let kinds = self.kinds(&call, &outputs, &declared.marks, &before)?;
        let repeated = match stretch {
            Some(stretch) => repeat(&self, &call, stretch, &before, (&returned, &outputs))?,
            None => None,
        };
        if kinds.iter().any(|kind| matches!(kind, OutputKind::Differentiable | OutputKind::Dirty))
            && call.recorded()
        {
            let made = (declared, &returned, outputs, repeated);
            return self.record(call, &context, made, &kinds);
        }
        build(py, &outputs.tree, &returned, &mut |k| match (&repeated, kinds[k]) {
            (Some(repeated), _) => Ok(repeated.outputs[k].clone().unbind()),
            (None, OutputKind::Alias) => Ok(wrap(py, outputs.tensor(k)?.detached())?.unbind()),
            (None, _) => Ok(outputs.tensors[k].clone().unbind()),
        })
    }

    /// Decides what each output becomes.
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

    /// Refuses a change of an argument that forward did not declare: its gradient would be that of another value.
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
                op: self.form.name.to_string().into(),
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
            let op = self.form.name.to_string().into();
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
            python(methods::admit_history("mark_dirty", tensor))?;
        }
        if tensor.version() == before[i] {
            tensor.storage().invalidate_saved();
            tensor.changed_in_place(self.form.lasting());
        } else {
            tensor.set_last_writer(self.form.lasting());
        }
        Ok(())
    }

    /// Records the node and attaches the outputs to it.
    fn record(
        self,
        call: FunctionCall,
        context: &Bound<'py, FunctionContext>,
        (declared, returned, outputs, repeated): MadeByForward<'_, 'py>,
        kinds: &OutputKinds,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = context.py();
        if !self.form.differentiable {
            return Err(self.no_backward());
        }
        let entries = self.save(context, declared.to_save, &outputs, kinds)?;
        let Outputs { tensors: returned_tensors, tree } = outputs;
        let (tensors, repeated) = match repeated {
            Some(Repeated { outputs, call }) => (outputs, Some(call)),
            None => (returned_tensors.clone(), None),
        };
        let (strict, form) = (self.strict, self.form);
        let tree = (!matches!(tree, Tree::Tensor(_))).then(|| Arc::new(tree));
        let rule = Trampoline {
            name: self.form.name.clone(),
            callee: self.callee,
            context: context.clone().unbind(),
            slots: self.arguments.slots,
            inputs: self.arguments.tensors.iter().filter_map(as_tensor).map(Spec::of).collect(),
            outputs: tensors.iter().filter_map(as_tensor).map(Spec::of).collect(),
            tree: tree.clone(),
            saved_kinds: entries.saved_kinds,
            repeated,
            reads: self.form.reads.clone(),
            raw_absent: declared.raw_absent,
            strict: self.strict,
            _counted: Counted::new(),
        };
        let node = call.record(Box::new(rule), entries.values, tensors.len(), Flags::FOREIGN)?;
        context.get().set_node(node.id(), entries.originals);
        let inputs = &self.arguments.tensors;
        let mut objects = OutputObjects::default();
        let mut leaf = |k: usize| {
            let make = || attach(&node, form, &tensors[k], k, kinds[k], inputs);
            objects.once(&returned_tensors, k, strict, make)
        };
        match &tree {
            None => Ok(leaf(0)?.into_bound(py)),
            Some(tree) => build(py, tree, returned, &mut leaf),
        }
    }

    /// Classifies what forward saved, attributes that are outputs included.
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

    /// What a saved object is to this call.
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
            op: self.form.name.to_string().into(),
            what: "the class has no backward and an argument requires grad".into(),
            remedy: "define a static backward(ctx, *grads), or call it under no_grad()".into(),
        }))
    }
}
