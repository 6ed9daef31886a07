//! `backward`, `grad` and Jacobians as Python calls them, and the modes of a thread.

pub(crate) mod depends_on;
pub(crate) mod ended_transforms;
pub(crate) mod engine_host;
pub(crate) mod fast_grad;
pub(crate) mod fast_jvp;
pub(crate) mod forward_ad;
pub(crate) mod grad_api;
pub(crate) mod modes;
pub(crate) mod transform_arguments;
