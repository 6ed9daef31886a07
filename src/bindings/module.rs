//! The extension module `ferrograd._core`: its functions, classes and constants.
//! Only `Tensor` exists from the start; everything else is created by the module's `__getattr__` when first used and
//! then stored in its dict. `__all__` lists the public names only.

use ::numpy::PyUntypedArray;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyList, PyString, PyType};

use crate::bindings::attach::require_main_interpreter;
use crate::bindings::backward::{
    depends_on, ended_transforms, engine_host, fast_grad, fast_jvp, forward_ad, grad_api, modes,
    transform_arguments,
};
use crate::bindings::call::{lazy_methods, observe, python_host_call};
use crate::bindings::compile::{
    bound_program, call_signature, compiled_call, control_flow, differentiable_program, program,
    result_structure,
};
use crate::bindings::graph::{
    call_site, edge, garbage_collection, hooks, introspect, multi_grad_hook, saved_tensor_hooks,
    saved_tensors,
};
use crate::bindings::interop::{dlpack, import_hooks, memory_owner, safetensors};
use crate::bindings::object::nn_module_slots;
use crate::bindings::pytree::tree_object;
use crate::bindings::{custom_op, errors, object, runtime, tensor};
use crate::kernels::isa;
use crate::threads;

/// Functions left out of `__all__`, which are those of `ferrograd.autograd`.
const NOT_REEXPORTED: [&str; 4] =
    ["backward", "get_gradient_edge", "once_differentiable", "register_multi_grad_hook"];

/// The functions by module; `as` gives the Python name where it differs. One `match` over all names compiles to a
/// table.
macro_rules! functions {
    ($($module:ident: $($name:ident $(as $python_name:ident)?),+;)+) => {
        static FUNCTIONS: &[&str] = &[$($(functions!(@python_name $name $($python_name)?)),+),+];

        fn function<'py>(
            m: &Bound<'py, PyModule>,
            name: &str,
        ) -> Option<PyResult<Bound<'py, PyCFunction>>> {
            Some(match name {
                $($(functions!(@python_name $name $($python_name)?) => wrap_pyfunction!($module::$name, m),)+)+
                _ => return None,
            })
        }
    };
    (@python_name $name:ident) => { stringify!($name) };
    (@python_name $name:ident $python_name:ident) => { stringify!($python_name) };
}

functions! {
    tensor: tensor, asarray, from_numpy, get_default_dtype, set_default_dtype, full as _full, adopt_array as _taken, leaf_of as _leaf, value_tensor as _value,
        rebuild as _rebuild, _update;
    dlpack: from_dlpack;
    grad_api: backward, grad as _grad, _jacobian, _rows_of_pass, _grad_rows;
    fast_jvp: _fast_jvp;
    forward_ad: _enter_dual_level, _exit_dual_level, _make_dual, _copy_dual, _unpack_dual;
    custom_op: once_differentiable, _run, _wrap_forward;
    nn_module_slots: _below, _watch_members, _shorten_module;
    modes: is_grad_enabled, is_inference_mode_enabled, _switch_grad, _switch_inference, _disallow_saved_mutation,
        _switch_recorded_arrays, _records_arrays,
        _switch_multithreading, is_multithreading_enabled, _restore_mode;
    runtime: get_num_threads, set_num_threads, live_nodes, _discovered_nodes, live_bytes, config as _config,
        registered as _registry;
    call_site: _switch_anomaly, _switch_sites, is_anomaly_enabled, is_anomaly_check_nan_enabled,
        _cut_because;
    edge: get_gradient_edge;
    multi_grad_hook: register_multi_grad_hook, _watch_passes;
    saved_tensor_hooks: _push_saved_hooks, _end_saved_hooks, _forbid_saved_hooks,
        _increment_version, _checkpoint;
    garbage_collection: _collecting;
    python_host_call: _call_foreign;
    introspect: _output_of, _graph_facts, _vanishing;
    observe: _observe, _unobserve;
    ended_transforms: _end_transform, _of_ended_transform;
    transform_arguments: _has_history, _push_arguments, _pop_arguments;
    depends_on: _depends_on, _depends_on_others, _runs_python, _calls_back;
    program: _record, _is_recording_program, _is_computed_anew, _may_replay, _is_in_transform, _dry_run, _as_arrays,
        _was_change_refused;
    differentiable_program: _record_joint;
    call_signature: _split_call;
    control_flow: _scan, _while_loop, _switch;
    tree_object: _flatten, _check_depth;
    fast_grad: _traced_call;
    safetensors: _safetensors_header, _safetensors_write;
}

/// The classes except `Tensor`, with their Python names.
macro_rules! classes {
    ($($name:literal: $class:ty,)+) => {
        static CLASSES: &[&str] = &[$($name),+];

        fn class<'py>(py: Python<'py>, name: &str) -> Option<Bound<'py, PyType>> {
            Some(match name {
                $($name => py.get_type::<$class>(),)+
                _ => return None,
            })
        }
    };
}

classes! {
    "TensorIterator": tensor::TensorIterator,
    "Node": object::node::PyNode,
    "SavedTensor": saved_tensors::SavedHandle,
    "_WeakNode": introspect::WeakNode,
    "_Memory": memory_owner::ExportedMemory,
    "GradientEdge": edge::GradientEdge,
    "RemovableHandle": hooks::RemovableHandle,
    "_PyTree": tree_object::PyTree,
    "Program": program::PyProgram,
    "DifferentiableProgram": differentiable_program::PyDifferentiableProgram,
    "BoundProgram": bound_program::PyBoundProgram,
    "_CallSignature": call_signature::CallSignature,
    "_ResultStructure": result_structure::ResultStructure,
    "_TracedCall": fast_grad::TracedCall,
    "_CompiledCall": compiled_call::CompiledCall,
    "Function": custom_op::Function,
    "CustomFunction": custom_op::CustomFunction,
    "FunctionContext": custom_op::FunctionContext,
}

/// The compiled part of ferrograd.
#[pymodule(name = "_core", gil_used = false)]
fn core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    require_main_interpreter(py)?;
    isa::requested().map_err(errors::to_python)?;
    call_site::register();
    engine_host::register();
    // Loads NumPy's C API now: a finaliser at interpreter shutdown could not import it any more.
    py.get_type::<PyUntypedArray>();
    let (members, class) = (m.dict(), py.get_type::<object::PyTensor>());
    members.set_item("__version__", env!("CARGO_PKG_VERSION"))?;
    members.set_item("Tensor", &class)?;
    object::free_list::install(py)?;
    tensor::slots::install(py);
    if object::free_list::HAS_GIL {
        threads::set_host_lock();
    }
    lazy_methods::install(&class)?;
    members.set_item("__getattr__", wrap_pyfunction!(__getattr__, m)?)?;
    members.set_item("__dir__", wrap_pyfunction!(__dir__, m)?)?;
    let callbacks = py.import("gc")?.getattr("callbacks")?;
    callbacks.call_method1("append", (wrap_pyfunction!(garbage_collection::_collecting, m)?,))?;
    import_hooks::install_missing_finder(py)?;
    import_hooks::register_einops(py)
}

/// Creates the member of this name, if there is one.
fn member<'py>(m: &Bound<'py, PyModule>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = m.py();
    if let Some(made) = function(m, name) {
        return Ok(Some(made?.into_any()));
    }
    if let Some(class) = class(py, name) {
        if name == "CustomFunction" {
            custom_op::mark_abstract(&class)?;
        }
        return Ok(Some(class.into_any()));
    }
    match name {
        "_namespaces" => lazy_methods::namespaces(m).map(Some),
        "__all__" => Ok(Some(PyList::new(py, public_names())?.into_any())),
        _ => match lazy_methods::function(m, name)? {
            Some(operation) => Ok(Some(operation)),
            None => errors::class_named(py, name),
        },
    }
}

/// A name that is not in the dict of the module yet.
#[pyfunction]
#[pyo3(pass_module)]
fn __getattr__<'py>(
    m: &Bound<'py, PyModule>,
    name: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    match member(m, name.to_str()?)? {
        // Two threads that race here get the same object.
        Some(made) => m.dict().call_method1("setdefault", (name, made)),
        None => {
            let text = format!("module 'ferrograd._core' has no attribute '{name}'");
            Err(PyAttributeError::new_err(text))
        }
    }
}

/// Every name, whether its value was made or not.
#[pyfunction]
#[pyo3(pass_module)]
fn __dir__<'py>(m: &Bound<'py, PyModule>) -> PyResult<Bound<'py, PyList>> {
    let all = PyDict::new(m.py());
    m.dict().keys().iter().try_for_each(|name| all.set_item(name, ()))?;
    let mut lazy = functions();
    lazy.extend(
        CLASSES.iter().copied().chain(["_namespaces", "__all__"]).chain(errors::class_names()),
    );
    lazy.into_iter().try_for_each(|name| all.set_item(name, ()))?;
    let names = all.keys();
    names.sort()?;
    Ok(names)
}

fn functions() -> Vec<&'static str> {
    let mut all = FUNCTIONS.to_vec();
    all.extend(lazy_methods::functions().map(|(_, name)| name));
    all
}

/// The names in `__all__`.
fn public_names() -> Vec<&'static str> {
    let mut all = functions();
    all.retain(|name| !name.starts_with('_') && !NOT_REEXPORTED.contains(name));
    all.push("Tensor");
    all
}
