//! `FunctionContext`: what the forward of a Rust `Function` saves for its backward.
//!
//! Invariant: new for each call. After forward the node owns the saved tensors; in backward the context holds the restored
//! values for that backward only.

use std::any::Any;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// An object that forward saves for backward.
pub(super) type Object = Arc<dyn Any + Send + Sync>;

/// What forward passes to backward.
#[derive(Default, Clone)]
pub struct FunctionContext {
    pub(super) tensors: SmallVec<[Option<Tensor>; 2]>,
    pub(super) keys: Vec<(String, usize)>,
    pub(super) objects: Vec<(Option<String>, Object)>,
    pub(super) needs: SmallVec<[bool; 4]>,
    pub(super) constants: Vec<Tensor>,
    pub(super) raw_absent: bool,
    cleared: bool,
}

impl FunctionContext {
    pub(super) fn new(needs: SmallVec<[bool; 4]>) -> FunctionContext {
        FunctionContext { needs, ..FunctionContext::default() }
    }

    /// Saves tensors for backward; a second call appends.
    pub fn save_for_backward<'a>(&mut self, tensors: impl IntoIterator<Item = &'a Tensor>) {
        self.tensors.extend(tensors.into_iter().map(|t| Some(t.clone())));
    }

    /// Saves a tensor, or its absence, at the next position.
    pub fn save_optional(&mut self, tensor: Option<&Tensor>) {
        self.tensors.push(tensor.cloned());
    }

    /// Saves a tensor under a key, replacing an earlier one.
    pub fn save_tensor(&mut self, key: &str, tensor: &Tensor) {
        match self.keys.iter().find(|(k, _)| k == key) {
            Some(&(_, i)) => self.tensors[i] = Some(tensor.clone()),
            None => {
                self.keys.push((key.to_owned(), self.tensors.len()));
                self.tensors.push(Some(tensor.clone()));
            }
        }
    }

    /// Saves any object.
    pub fn save_object<T: Any + Send + Sync>(&mut self, object: T) {
        self.objects.push((None, Arc::new(object)));
    }

    /// Saves any object under a key, replacing an earlier one.
    pub fn save_object_as<T: Any + Send + Sync>(&mut self, key: &str, object: T) {
        self.objects.retain(|(k, _)| k.as_deref() != Some(key));
        self.objects.push((Some(key.to_owned()), Arc::new(object)));
    }

    /// The saved tensors, in the order of saving.
    ///
    /// # Errors
    /// `Contract` after `clear`.
    pub fn saved_tensors(&self) -> Result<&[Option<Tensor>]> {
        if self.cleared { Err(cleared_error()) } else { Ok(&self.tensors) }
    }

    /// Saved tensor `i`.
    ///
    /// # Errors
    /// `SavedIndex` if out of range or nothing was saved there; `Contract` after `clear`.
    pub fn saved(&self, i: usize) -> Result<&Tensor> {
        let tensors = self.saved_tensors()?;
        tensors.get(i).and_then(Option::as_ref).ok_or_else(|| index_error(i as i64, tensors.len()))
    }

    /// The tensor saved under a key.
    ///
    /// # Errors
    /// `Argument` when there is none; `Contract` after `clear`.
    pub fn saved_under(&self, key: &str) -> Result<&Tensor> {
        match self.keys.iter().find(|(k, _)| k == key) {
            Some(&(_, i)) => self.saved(i),
            None if self.cleared => Err(cleared_error()),
            None => Err(key_error(key)),
        }
    }

    /// Saved object `i`, if it is a `T`.
    pub fn object<T: Any>(&self, i: usize) -> Option<&T> {
        self.objects.get(i)?.1.downcast_ref()
    }

    /// The object saved under a key, if there is one and it is a `T`.
    pub fn object_under<T: Any>(&self, key: &str) -> Option<&T> {
        let (_, object) = self.objects.iter().find(|(k, _)| k.as_deref() == Some(key))?;
        object.downcast_ref()
    }

    /// Whether input `i` requires grad; in backward, whether this pass asks for its gradient.
    pub fn needs_input_grad(&self, i: usize) -> bool {
        self.needs.get(i).copied().unwrap_or(false)
    }

    /// Marks an output as a constant that does not require grad.
    pub fn mark_non_differentiable(&mut self, output: &Tensor) {
        self.constants.push(output.clone());
    }

    /// Whether missing output gradients are zeros in backward (the default) or `None`.
    pub fn set_materialize_grads(&mut self, on: bool) {
        self.raw_absent = !on;
    }

    /// Drops everything saved; idempotent.
    pub fn clear(&mut self) {
        *self = FunctionContext {
            needs: std::mem::take(&mut self.needs),
            cleared: true,
            ..Default::default()
        };
    }
}

#[cold]
pub(crate) fn cleared_error() -> Box<Error> {
    Box::new(Error::Contract {
        what: "Cannot retrieve tensor from disposed context: clear() was called on it, or its backward is over and \
               freed it; pass retain_graph=True to keep it"
            .into(),
    })
}

#[cold]
pub(crate) fn index_error(i: i64, n: usize) -> Box<Error> {
    let what = match n {
        0 => format!("Tensor index {i} is out of range: no tensors were saved"),
        n => format!("Tensor index {i} is out of range. Valid range is 0 to {}", n - 1),
    };
    Box::new(Error::SavedIndex { what })
}

#[cold]
pub(crate) fn key_error(key: &str) -> Box<Error> {
    Box::new(Error::Argument {
        op: "get_saved_tensor".into(),
        what: format!("nothing was saved under the key {key:?}"),
        remedy: "save it in forward with save_tensor(key, tensor)".into(),
    })
}
