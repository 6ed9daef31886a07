//! What `import ferrograd._core` executes.
//!
//! Owns: the list of everything the module holds. Never defines any of it.
//! Invariant: `__all__` holds the public names only; errors and helpers are there without being in it.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyType};

use crate::bindings::call::{entry, foreign, observe};
use crate::bindings::exchange::{dlpack, einops, memory, safetensors};
use crate::bindings::graph::{collect, edge, group, hooks, introspect, packing, saved, site};
use crate::bindings::pass::{
    backward, bound, control, host, joint, modes, replay, replayed, search, short,
};
use crate::bindings::{errors, function, object, tensor};
use crate::threads;

/// Functions whose public place is not the package itself: `fg.grad` is another function, and the
/// package's own `div` and `_like` functions take more arguments.
const ELSEWHERE: [&str; 9] = [
    "backward",
    "div",
    "full_like",
    "get_gradient_edge",
    "grad",
    "once_differentiable",
    "ones_like",
    "register_multi_grad_hook",
    "zeros_like",
];

/// The compiled part of ferrograd.
#[pymodule(name = "_core", gil_used = false)]
fn core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    site::register();
    host::register();
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<object::PyTensor>()?;
    object::recycle::begin(py)?;
    if object::recycle::HAS_GIL {
        threads::host_has_a_lock();
    }
    m.add_class::<tensor::TensorIterator>()?;
    m.add_class::<object::node::PyNode>()?;
    m.add_class::<saved::SavedHandle>()?;
    m.add_class::<introspect::WeakNode>()?;
    m.add_class::<memory::Memory>()?;
    m.add_class::<edge::GradientEdge>()?;
    m.add_class::<hooks::RemovableHandle>()?;
    m.add_class::<replay::PyProgram>()?;
    m.add_class::<joint::PyJoint>()?;
    m.add_class::<bound::PyBoundProgram>()?;
    m.add_class::<replayed::Replayed>()?;
    m.add_class::<function::Function>()?;
    m.add_class::<function::CustomFunction>()?;
    function::mark(&m.py().get_type::<function::CustomFunction>())?;
    m.add_class::<function::FunctionContext>()?;
    entry::register(m, &py.get_type::<object::PyTensor>())?;
    functions(m)?;
    for (name, class) in errors::types(py)? {
        m.add(*name, class.bind(py))?;
    }
    einops::wait(py)?;
    publish(m)
}

fn functions(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(tensor::tensor, m)?)?;
    m.add_function(wrap_pyfunction!(tensor::asarray, m)?)?;
    m.add_function(wrap_pyfunction!(tensor::from_numpy, m)?)?;
    m.add_function(wrap_pyfunction!(dlpack::from_dlpack, m)?)?;
    m.add_function(wrap_pyfunction!(tensor::get_default_dtype, m)?)?;
    m.add_function(wrap_pyfunction!(tensor::set_default_dtype, m)?)?;
    m.add_function(wrap_pyfunction!(tensor::full, m)?)?;
    m.add_function(wrap_pyfunction!(tensor::rebuild, m)?)?;
    m.add_function(wrap_pyfunction!(backward::backward, m)?)?;
    m.add_function(wrap_pyfunction!(backward::grad, m)?)?;
    m.add_function(wrap_pyfunction!(backward::_jacobian, m)?)?;
    m.add_function(wrap_pyfunction!(backward::_grad_rows, m)?)?;
    m.add_function(wrap_pyfunction!(function::once_differentiable, m)?)?;
    m.add_function(wrap_pyfunction!(modes::is_grad_enabled, m)?)?;
    m.add_function(wrap_pyfunction!(modes::is_inference_mode_enabled, m)?)?;
    m.add_function(wrap_pyfunction!(modes::_switch_grad, m)?)?;
    m.add_function(wrap_pyfunction!(modes::_switch_inference, m)?)?;
    m.add_function(wrap_pyfunction!(modes::_switch_multithreading, m)?)?;
    m.add_function(wrap_pyfunction!(modes::is_multithreading_enabled, m)?)?;
    m.add_function(wrap_pyfunction!(modes::_restore_mode, m)?)?;
    m.add_function(wrap_pyfunction!(site::_switch_anomaly, m)?)?;
    m.add_function(wrap_pyfunction!(site::_switch_sites, m)?)?;
    m.add_function(wrap_pyfunction!(site::is_anomaly_enabled, m)?)?;
    m.add_function(wrap_pyfunction!(site::is_anomaly_check_nan_enabled, m)?)?;
    m.add_function(wrap_pyfunction!(site::_cut_because, m)?)?;
    m.add_function(wrap_pyfunction!(modes::get_num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(modes::set_num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(modes::live_nodes, m)?)?;
    m.add_function(wrap_pyfunction!(modes::_discovered_nodes, m)?)?;
    m.add_function(wrap_pyfunction!(modes::live_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(modes::config, m)?)?;
    m.add_function(wrap_pyfunction!(modes::registered, m)?)?;
    m.add_function(wrap_pyfunction!(edge::get_gradient_edge, m)?)?;
    m.add_function(wrap_pyfunction!(group::register_multi_grad_hook, m)?)?;
    m.add_function(wrap_pyfunction!(group::_watch_passes, m)?)?;
    m.add_function(wrap_pyfunction!(packing::_push_saved_hooks, m)?)?;
    m.add_function(wrap_pyfunction!(packing::_allow_changes_of_saved, m)?)?;
    m.add_function(wrap_pyfunction!(packing::_end_saved_hooks, m)?)?;
    m.add_function(wrap_pyfunction!(packing::_forbid_saved_hooks, m)?)?;
    m.add_function(wrap_pyfunction!(packing::_increment_version, m)?)?;
    m.add_function(wrap_pyfunction!(packing::_checkpoint, m)?)?;
    let callbacks = m.py().import("gc")?.getattr("callbacks")?;
    callbacks.call_method1("append", (wrap_pyfunction!(collect::_collecting, m)?,))?;
    internals(m)
}

/// What the package's own modules are made of.
fn internals(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(foreign::_call_foreign, m)?)?;
    m.add_function(wrap_pyfunction!(function::_run, m)?)?;
    m.add_function(wrap_pyfunction!(tensor::_update, m)?)?;
    m.add_function(wrap_pyfunction!(function::_wrap_forward, m)?)?;
    m.add_function(wrap_pyfunction!(introspect::_output_of, m)?)?;
    m.add_function(wrap_pyfunction!(introspect::_graph_facts, m)?)?;
    m.add_function(wrap_pyfunction!(introspect::_vanishing, m)?)?;
    m.add_function(wrap_pyfunction!(observe::_observe, m)?)?;
    m.add_function(wrap_pyfunction!(search::_depends_on, m)?)?;
    m.add_function(wrap_pyfunction!(search::_depends_on_others, m)?)?;
    m.add_function(wrap_pyfunction!(search::_runs_python, m)?)?;
    m.add_function(wrap_pyfunction!(replay::_record, m)?)?;
    m.add_function(wrap_pyfunction!(joint::_record_joint, m)?)?;
    m.add_function(wrap_pyfunction!(control::_scan, m)?)?;
    m.add_function(wrap_pyfunction!(control::_while_loop, m)?)?;
    m.add_function(wrap_pyfunction!(control::_switch, m)?)?;
    m.add_function(wrap_pyfunction!(replay::_is_recording_program, m)?)?;
    m.add_function(wrap_pyfunction!(replay::_is_computed_anew, m)?)?;
    m.add_function(wrap_pyfunction!(replay::_may_replay, m)?)?;
    m.add_function(wrap_pyfunction!(replay::_is_in_transform, m)?)?;
    m.add_function(wrap_pyfunction!(short::_traced_call, m)?)?;
    m.add_function(wrap_pyfunction!(short::_short_gradient, m)?)?;
    m.add_function(wrap_pyfunction!(short::_short_push, m)?)?;
    m.add_function(wrap_pyfunction!(observe::_unobserve, m)?)?;
    m.add_function(wrap_pyfunction!(safetensors::_safetensors_header, m)?)?;
    m.add_function(wrap_pyfunction!(safetensors::_safetensors_write, m)?)?;
    Ok(())
}

/// Narrows `__all__` to what `from ferrograd._core import *` may bring into the package.
fn publish(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let hidden = |value: &Bound<'_, PyAny>, name: &str| {
        let class = value
            .cast::<PyType>()
            .is_ok_and(|class| !class.is(m.py().get_type::<object::PyTensor>()));
        name.starts_with('_') || class || ELSEWHERE.contains(&name)
    };
    let public = PyList::empty(m.py());
    for name in m.index()?.iter() {
        let text: String = name.extract()?;
        if !hidden(&m.getattr(text.as_str())?, &text) {
            public.append(name)?;
        }
    }
    m.setattr("__all__", public)
}
