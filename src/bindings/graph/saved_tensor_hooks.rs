//! Saved-tensor hooks (pack and unpack) and checkpoints written in Python.

use std::any::Any;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::bindings::attach::attached;
use crate::bindings::call::callback::Callback;
use crate::bindings::call::convert::tensor_of;
use crate::bindings::call::thread_state::{ThreadStateGuard, check_stack};
use crate::bindings::errors::{bad_type, from_python, type_name};
use crate::bindings::object::{PyTensor, object_of, wrap};
use crate::error::{Dims, Error, Result};
use crate::graph::{
    GRAD, HostObjects, Mode, ModeGuard, PACKING, Pack, PackedValue, TRACING, Value,
};
use crate::ops::autograd::checkpoint::{Recompute, checkpoint_with};
use crate::ops::core::shape_dtype::ShapeDType;
use crate::tensor::{Edge, SavedTensor, Tensor, same_elements, saved_tensor_hooks};
use crate::threads::Mutex;

/// The pack and unpack functions.
pub(super) struct Hooks {
    pack: Callback,
    unpack: Arc<Callback>,
}

impl Hooks {
    pub(super) fn new(
        op: &str,
        pack: &Bound<'_, PyAny>,
        unpack: &Bound<'_, PyAny>,
    ) -> PyResult<Hooks> {
        let unpack = Arc::new(Callback::new(op, unpack)?);
        Ok(Hooks { pack: Callback::new(op, pack)?, unpack })
    }
}

impl Pack<Tensor> for Hooks {
    fn pack(&self, value: Tensor, _op: &str) -> Result<Arc<dyn PackedValue<Tensor>>> {
        attached(|py| {
            let (spec, version) = (ShapeDType::of(&value), value.version());
            let foreign_error =
                |raised| from_python(raised, "raised in the pack hook of saved_tensors_hooks");
            let Some(pack) = self.pack.get(py) else {
                return Err(foreign_error(bad_type("pack", "the hook is gone", "report this")));
            };
            let _state = ThreadStateGuard::new(py);
            let object = wrap(py, value.clone()).and_then(|value| pack.call1((value,)));
            let object = object.map_err(foreign_error)?;
            let shares = object.cast::<PyTensor>().is_ok_and(|packed| {
                let packed = packed.get().tensor.storage();
                packed.same(value.storage())
            });
            let object = object.unbind();
            if value.version() != version {
                return Err(Error::InPlace {
                    op: "pack".into(),
                    what: "the pack hook changed the tensor that is being saved in place".into(),
                    remedy: "change a clone of it: t = t.clone()",
                }
                .into());
            }
            let object = Mutex::new(Some(object));
            let saved = shares.then(|| value.pack());
            Ok(Arc::new(Packed { object, unpack: self.unpack.clone(), spec, saved }) as Arc<_>)
        })
    }
}

/// The result of the pack hook for one saved tensor.
struct Packed {
    object: Mutex<Option<Py<PyAny>>>,
    unpack: Arc<Callback>,
    spec: ShapeDType,
    /// The saved value, if pack returned the tensor's own memory: it is protected from later writes.
    saved: Option<SavedTensor>,
}

impl Packed {
    fn check_spec(&self, tensor: &Tensor) -> Result<()> {
        let ShapeDType { dims, dtype } = &self.spec;
        if tensor.shape() == &dims[..] && tensor.dtype() == *dtype {
            return Ok(());
        }
        let (want, got) = (Dims::from(&dims[..]), Dims::from(tensor.shape()));
        Err(Box::new(Error::Shape {
            op: "unpack".into(),
            what: format!(
                "the unpack hook returned shape {got} and dtype {} for shape {want} and dtype {dtype}",
                tensor.dtype()
            ),
            remedy: "return the tensor that pack was given, or an equal one",
        }))
    }
}

/// The unpacked tensor with the edge of the saved one. It becomes the leaf itself only if it has the leaf's memory;
/// other elements get the leaf's edge, but not its state.
fn with_edge(py: Python<'_>, tensor: Tensor, edge: Option<Edge>) -> Tensor {
    let restored = tensor.clone().with_saved_edge(edge.clone());
    let leaf = restored.meta().and_then(|state| object_of(py, state));
    let other = |leaf: Bound<'_, PyAny>| {
        leaf.cast::<PyTensor>().is_ok_and(|leaf| !same_elements(&leaf.get().tensor, &tensor))
    };
    match edge {
        Some(edge) if leaf.is_some_and(other) => tensor.attach(edge),
        _ => restored,
    }
}

impl PackedValue<Tensor> for Packed {
    fn unpack(&self, edge: Option<Edge>, op: &str) -> Result<Tensor> {
        let _off = ModeGuard::new(Mode::current().with(GRAD | PACKING | TRACING, false));
        attached(|py| {
            let foreign_error =
                |raised| from_python(raised, "raised in the unpack hook of saved_tensors_hooks");
            let object = self.object.lock().as_ref().map(|object| object.clone_ref(py));
            let (Some(unpack), Some(object)) = (self.unpack.get(py), object) else {
                return Err(foreign_error(bad_type("unpack", "the hook is gone", "report this")));
            };
            let _state = ThreadStateGuard::new(py);
            let returned = unpack.call1((object,)).map_err(foreign_error)?;
            let tensor = match returned.cast::<PyTensor>() {
                Ok(tensor) => tensor.get().tensor.clone(),
                Err(_) => tensor_of("unpack", "the result of the unpack hook", &returned)
                    .map_err(foreign_error)?,
            };
            self.check_spec(&tensor)?;
            if let Some(saved) = self.saved.as_ref().filter(|saved| saved.has_elements_of(&tensor))
            {
                return saved.clone().restore(edge, op);
            }
            Ok(with_edge(py, tensor.detach(), edge))
        })
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        Some(self)
    }
}

impl HostObjects for Packed {
    fn visit(&self, visit: &mut dyn FnMut(&dyn Any)) {
        if let Some(object) = self.object.try_lock()
            && let Some(object) = &*object
        {
            visit(object);
        }
    }

    fn clear(&self) {
        let gone = self.object.lock().take();
        drop(gone);
    }
}

/// Applies saved-tensor hooks on this thread until `_end_saved_hooks` gets the returned key; inside a block that
/// forbids hooks, returns that block's message instead.
#[pyfunction]
pub(crate) fn _push_saved_hooks<'py>(
    pack: &Bound<'py, PyAny>,
    unpack: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let hooks = Hooks::new("saved_tensors_hooks", pack, unpack)?;
    Ok(match saved_tensor_hooks::push(Arc::new(hooks)) {
        Ok(key) => key.into_pyobject(pack.py())?.into_any(),
        Err(message) => PyString::new(pack.py(), &message).into_any(),
    })
}

/// Forbids saved-tensor hooks on this thread until `_end_saved_hooks` gets the returned key; None inside such hooks.
#[pyfunction]
pub(crate) fn _forbid_saved_hooks(message: &str) -> Option<u64> {
    saved_tensor_hooks::forbid(message)
}

/// Ends the innermost of these blocks and returns its key; None when none of them is open on this thread.
#[pyfunction]
pub(crate) fn _end_saved_hooks(keys: Vec<u64>) -> Option<u64> {
    saved_tensor_hooks::end(&keys)
}

/// Raises the version of a tensor whose memory was changed by other code.
#[pyfunction]
pub(crate) fn _increment_version(tensor: &Bound<'_, PyTensor>) {
    let storage = tensor.get().tensor.storage();
    storage.invalidate_saved();
    storage.bump_version("increment_version");
}

/// An argument of a checkpointed call; tensors are saved values of the node.
enum Argument {
    Tensor(usize),
    Object(Py<PyAny>),
}

/// A Python function and the arguments of its checkpointed call.
struct RecomputedCall {
    function: Callback,
    args: Vec<Argument>,
    kwargs: Vec<(Py<PyString>, Argument)>,
}

impl RecomputedCall {
    fn call(&self, py: Python<'_>, inputs: Vec<Tensor>) -> PyResult<()> {
        let Some(function) = self.function.get(py) else {
            return Err(bad_type("checkpoint", "the function is gone", "report this"));
        };
        check_stack("checkpoint")?;
        let _state = ThreadStateGuard::new(py);
        let tensors: Vec<Bound<'_, PyAny>> =
            inputs.into_iter().map(|input| wrap(py, input)).collect::<PyResult<_>>()?;
        let value = |argument: &Argument| match argument {
            Argument::Tensor(i) => tensors[*i].clone(),
            Argument::Object(object) => object.bind(py).clone(),
        };
        let kwargs = PyDict::new(py);
        for (name, argument) in &self.kwargs {
            kwargs.set_item(name, value(argument))?;
        }
        let args = PyTuple::new(py, self.args.iter().map(value))?;
        function.call(args, Some(&kwargs)).map(drop)
    }
}

impl Recompute for RecomputedCall {
    fn recompute(&self, inputs: Vec<Tensor>) -> Result<()> {
        attached(|py| {
            let call = self.call(py, inputs);
            call.map_err(|raised| {
                from_python(raised, "raised when a checkpoint was computed again")
            })
        })
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        Some(self)
    }
}

impl HostObjects for RecomputedCall {
    fn visit(&self, visit: &mut dyn FnMut(&dyn Any)) {
        self.function.visit(visit);
        let named = self.kwargs.iter().map(|(_, argument)| argument);
        for argument in self.args.iter().chain(named) {
            if let Argument::Object(object) = argument {
                visit(object);
            }
        }
    }

    fn clear(&self) {
        self.function.clear();
    }
}

/// Calls `function(*args, **kwargs)` without keeping its saved values; backward calls `again` with the same arguments.
#[pyfunction]
pub(crate) fn _checkpoint<'py>(
    function: &Bound<'py, PyAny>,
    again: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
    early_stop: bool,
) -> PyResult<Bound<'py, PyAny>> {
    check_stack("checkpoint")?;
    let mut tensors: Vec<Tensor> = Vec::new();
    let mut argument = |ob: Bound<'py, PyAny>| match ob.cast::<PyTensor>() {
        Ok(tensor) => {
            tensors.push(tensor.get().tensor.clone());
            Argument::Tensor(tensors.len() - 1)
        }
        Err(_) => Argument::Object(ob.unbind()),
    };
    let positional = args.iter().map(&mut argument).collect();
    let mut named = Vec::with_capacity(kwargs.len());
    for (name, value) in kwargs.iter() {
        let Ok(name) = name.cast_into::<PyString>() else {
            let what = format!("a keyword is a {}", type_name(&value));
            return Err(bad_type("checkpoint", what, "name arguments by strings"));
        };
        named.push((name.unbind(), argument(value)));
    }
    let again = RecomputedCall {
        function: Callback::new("checkpoint", again)?,
        args: positional,
        kwargs: named,
    };
    let inputs: Vec<&Tensor> = tensors.iter().collect();
    checkpoint_with(&inputs, Box::new(again), early_stop, || function.call(args, Some(kwargs)))
}
