//! Checkpointing: saved values of a computation are dropped on record, and recomputed when its backward needs them.
//!
//! Invariant: a recomputation records, but no gradient flows through it; only the values it saves are used.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use smallvec::SmallVec;

use crate::error::{Dims, Error, Result};
use crate::graph::{
    DUAL, GRAD, HostObjects, Mode, ModeGuard, PACKING, Pack, PackedValue, Saved, TRACING, Value,
    recording,
};
use crate::ops::core::shape_dtype::ShapeDType;
use crate::tensor::saved_tensor_hooks::with_packer;
use crate::tensor::{Edge, SavedTensor, Tensor};
use crate::threads::{Mutex, MutexGuard};

const OP: &str = "checkpoint";

/// A computation that can be repeated.
pub trait Recompute: Send + Sync {
    /// Repeats the computation on the same inputs; its result is ignored.
    ///
    /// # Errors
    /// Any error of the computation.
    fn recompute(&self, inputs: Vec<Tensor>) -> Result<()>;

    /// The host-language objects that the computation owns.
    fn host_objects(&self) -> Option<&dyn HostObjects> {
        None
    }
}

/// One value that the first run saved.
struct Entry {
    spec: ShapeDType,
    /// Whether a node still needs it.
    live: bool,
    value: Option<SavedTensor>,
}

/// One checkpointed call.
struct Frame {
    inputs: SmallVec<[Saved<Tensor>; 2]>,
    computation: Box<dyn Recompute>,
    mode: Mode,
    early_stop: bool,
    entries: Mutex<Vec<Entry>>,
}

impl Frame {
    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock()
    }

    /// Takes what a recomputation stored for entry `index`.
    fn take(&self, index: usize) -> Option<SavedTensor> {
        self.entries().get_mut(index)?.value.take()
    }

    /// Repeats the computation; returns entry `index` and stores the other ones.
    fn recompute(self: &Arc<Frame>, index: usize) -> Result<SavedTensor> {
        let inputs: Result<Vec<Tensor>> =
            self.inputs.iter().map(|input| input.restore(OP)).collect();
        let recomputation = Arc::new(Recomputation {
            frame: Arc::clone(self),
            expected: self.entries().len(),
            wanted: index,
            found: Mutex::new(None),
            next: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        });
        let _mode = ModeGuard::new(self.mode);
        let inputs = inputs?;
        let done = with_packer(recomputation.clone(), || self.computation.recompute(inputs));
        let seen = recomputation.next.load(Ordering::Relaxed);
        let ended = recomputation.ended.load(Ordering::Relaxed);
        if !ended {
            done?;
        }
        let found = recomputation.found.lock().take();
        match found {
            Some(value) if ended || seen == recomputation.expected => Ok(value),
            _ => Err(different(format!(
                "the first run saved {} tensors and the repetition {seen}",
                recomputation.expected
            ))),
        }
    }
}

#[cold]
fn different(what: String) -> Box<Error> {
    Box::new(Error::Argument {
        op: OP.into(),
        what,
        remedy: "make the function do the same when it runs again: it must not depend on state that changes".into(),
    })
}

/// Replaces a saved value that was dropped.
struct DroppedValue {
    frame: Arc<Frame>,
    index: usize,
}

impl PackedValue<Tensor> for DroppedValue {
    fn unpack(&self, edge: Option<Edge>, op: &str) -> Result<Tensor> {
        let value = match self.frame.take(self.index) {
            Some(value) => value,
            None => self.frame.recompute(self.index)?,
        };
        value.restore(edge, op)
    }

    fn host_objects(&self) -> Option<&dyn HostObjects> {
        self.frame.computation.host_objects().map(|_| self as &dyn HostObjects)
    }
}

impl HostObjects for DroppedValue {
    fn visit(&self, visit: &mut dyn FnMut(&dyn Any)) {
        if let Some(objects) = self.frame.computation.host_objects() {
            objects.visit(visit);
        }
    }

    fn clear(&self) {
        if let Some(objects) = self.frame.computation.host_objects() {
            objects.clear();
        }
    }

    fn shared(&self) -> Option<(usize, usize)> {
        Some((Arc::as_ptr(&self.frame).addr(), Arc::strong_count(&self.frame)))
    }
}

impl Drop for DroppedValue {
    fn drop(&mut self) {
        let mut entries = self.frame.entries();
        let gone = entries.get_mut(self.index).and_then(|entry| {
            entry.live = false;
            entry.value.take()
        });
        drop(entries);
        drop(gone);
    }
}

/// The packing hook of the first run: notes the shape and dtype of a saved value and drops it.
struct DropSaved(Arc<Frame>);

impl Pack<Tensor> for DropSaved {
    fn pack(&self, value: Tensor, _op: &str) -> Result<Arc<dyn PackedValue<Tensor>>> {
        let entry = Entry { spec: ShapeDType::of(&value), live: true, value: None };
        let mut entries = self.0.entries();
        entries.push(entry);
        let index = entries.len() - 1;
        drop(entries);
        Ok(Arc::new(DroppedValue { frame: Arc::clone(&self.0), index }))
    }
}

/// The packing hook of a recomputation: stores the saved values.
struct Recomputation {
    frame: Arc<Frame>,
    /// How many values the first run had saved when this recomputation started.
    expected: usize,
    wanted: usize,
    found: Mutex<Option<SavedTensor>>,
    next: AtomicUsize,
    /// Whether it was stopped early.
    ended: AtomicBool,
}

/// A value saved by a recomputation, for a backward pass inside the recomputed function.
struct RecomputedValue(SavedTensor);

impl PackedValue<Tensor> for RecomputedValue {
    fn unpack(&self, edge: Option<Edge>, op: &str) -> Result<Tensor> {
        self.0.clone().restore(edge, op)
    }
}

impl Recomputation {
    /// Stores value `i`.
    fn fill(&self, i: usize, value: &Tensor) -> Result<()> {
        let payload = value.pack();
        let mut entries = self.frame.entries();
        let Some(entry) = entries.get_mut(i).filter(|_| i < self.expected) else {
            return Ok(());
        };
        let ShapeDType { dims, dtype } = &entry.spec;
        if &dims[..] != value.shape() || *dtype != value.dtype() {
            let (before, now) = (Dims::from(&dims[..]), Dims::from(value.shape()));
            let what = format!(
                "saved tensor {i} had shape {before} and dtype {dtype} in the first run and has shape {now} and \
                 dtype {} in the repetition",
                value.dtype()
            );
            return Err(different(what));
        }
        let old = if i == self.wanted {
            drop(entries);
            self.found.lock().replace(payload)
        } else {
            let old = if entry.live { entry.value.replace(payload) } else { None };
            drop(entries);
            old
        };
        drop(old);
        Ok(())
    }
}

impl Pack<Tensor> for Recomputation {
    fn pack(&self, value: Tensor, _op: &str) -> Result<Arc<dyn PackedValue<Tensor>>> {
        let i = self.next.fetch_add(1, Ordering::Relaxed);
        self.fill(i, &value)?;
        if self.frame.early_stop && i + 1 >= self.expected {
            self.ended.store(true, Ordering::Relaxed);
            return Err(Error::Enough { op: OP.into() }.into());
        }
        Ok(Arc::new(RecomputedValue(value.pack())))
    }
}

/// Runs `body`, a computation on `inputs`, without keeping its saved values; backward recomputes them with `computation`.
/// With `early_stop`, a recomputation stops after the last value that is needed.
///
/// # Errors
/// Any error of `body`. In the backward: `Argument` if the recomputation saves other values than the first run.
pub fn checkpoint_with<R, E: From<Box<Error>>>(
    inputs: &[&Tensor],
    computation: Box<dyn Recompute>,
    early_stop: bool,
    body: impl FnOnce() -> std::result::Result<R, E>,
) -> std::result::Result<R, E> {
    // Forward mode keeps no values, and would recompute all of them for each operation.
    if !recording() || Mode::current().has(DUAL) {
        return body();
    }
    let inputs: Result<_> = inputs.iter().map(|input| Saved::without_node(*input, OP)).collect();
    let frame = Frame {
        inputs: inputs?,
        computation,
        mode: Mode::current().with(GRAD, true).with(PACKING | TRACING, false),
        early_stop,
        entries: Mutex::default(),
    };
    with_packer(Arc::new(DropSaved(Arc::new(frame))), body)
}

struct RustFunction<F>(F);

impl<F: Fn(&[Tensor]) -> Result<Tensor> + Send + Sync> Recompute for RustFunction<F> {
    fn recompute(&self, inputs: Vec<Tensor>) -> Result<()> {
        (self.0)(&inputs).map(drop)
    }
}

/// Computes `function(inputs)` without keeping its saved values; backward recomputes them.
///
/// ```
/// use ferrograd::{Tensor, checkpoint};
/// let x = Tensor::from(vec![0.5, 1.0]).with_grad();
/// let y = checkpoint(|x| x[0].exp()?.sin(), &[&x]).unwrap();
/// y.sum_all().unwrap().backward().unwrap();
/// let slope = |x: f64| x.exp() * x.exp().cos();
/// let grad = x.grad().unwrap().to_vec::<f64>().unwrap();
/// assert!((grad[0] - slope(0.5)).abs() < 1e-12 && (grad[1] - slope(1.0)).abs() < 1e-12);
/// ```
///
/// # Errors
/// As [`checkpoint_with`].
pub fn checkpoint<F>(function: F, inputs: &[&Tensor]) -> Result<Tensor>
where
    F: Fn(&[Tensor]) -> Result<Tensor> + Clone + Send + Sync + 'static,
{
    let owned: Vec<Tensor> = inputs.iter().map(|x| (*x).clone()).collect();
    checkpoint_with(inputs, Box::new(RustFunction(function.clone())), false, || function(&owned))
}
