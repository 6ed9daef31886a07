//! `trait Function`: custom operations with their own backward, in Rust.
//!
//! Invariant: one node per call, and one backward call per pass, however many outputs have a gradient.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::graph::{Context, Flags, ModeGuard, Rule, Saved, SavedValues, forward_ad};
use crate::kernels::launch::require_all_gradients;
use crate::ops::core::shape_dtype::ShapeDType;
use crate::ops::custom_op::call::{output, same_view};
use crate::ops::custom_op::{
    FunctionCall, FunctionContext, GradientCheck, SavedKind, SavedRole, intermediate_edge,
};
use crate::tensor::{Tensor, with_cut_edge};

/// An operation with its own derivative.
///
/// The value itself holds hyper-parameters; the node keeps a clone, and the context holds the state of a call. `forward`
/// runs with recording off.
///
/// ```
/// use ferrograd::{Tensor, Result};
/// use ferrograd::ops::custom_op::{Function, FunctionContext};
///
/// #[derive(Clone)]
/// struct Scale(f64);
///
/// impl Function for Scale {
///     fn forward(&self, _: &mut FunctionContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
///         Ok(vec![inputs[0] * self.0])
///     }
///     fn backward(&self, _: &FunctionContext, grads: &[Option<Tensor>]) -> Result<Vec<Option<Tensor>>> {
///         Ok(vec![grads[0].as_ref().map(|g| g * self.0)])
///     }
/// }
///
/// let x = Tensor::from(3.0).with_grad();
/// let y = Scale(2.0).apply(&[&x]).unwrap();
/// y.backward().unwrap();
/// assert_eq!(x.grad().unwrap().item::<f64>().unwrap(), 2.0);
/// ```
pub trait Function: Clone + Send + Sync + 'static {
    /// The name in the graph and in messages.
    fn name(&self) -> Cow<'static, str> {
        let path = std::any::type_name::<Self>();
        Cow::Borrowed(path.rsplit("::").next().unwrap_or(path))
    }

    /// Computes the outputs and saves in `cx` what `backward` needs.
    ///
    /// # Errors
    /// Any error of the computation.
    fn forward(&self, cx: &mut FunctionContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>>;

    /// The gradients of the inputs (`None` for none) from those of the outputs.
    ///
    /// # Errors
    /// Any error of the computation.
    fn backward(
        &self,
        cx: &FunctionContext,
        grads: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>>;

    /// Calls the function and returns its first output.
    ///
    /// # Errors
    /// Those of `forward`; `Contract` if there were no outputs.
    fn apply(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        self.apply_many(inputs)?.into_iter().next().ok_or_else(|| {
            let what = format!(
                "Function produced no outputs: the forward of {} returned none",
                self.name()
            );
            Box::new(Error::Contract { what })
        })
    }

    /// Calls the function and returns all its outputs.
    ///
    /// # Errors
    /// Those of `forward`.
    fn apply_many(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let call = FunctionCall::begin(inputs.iter().copied());
        let mut cx = FunctionContext::new((0..inputs.len()).map(|i| call.needs(i)).collect());
        let raws = {
            let _off = ModeGuard::forward();
            self.forward(&mut cx, inputs)?
        };
        finish(self, call, cx, inputs, raws)
    }
}

fn finish<F: Function>(
    function: &F,
    call: FunctionCall,
    mut cx: FunctionContext,
    inputs: &[&Tensor],
    raws: Vec<Tensor>,
) -> Result<Vec<Tensor>> {
    let varies: SmallVec<[bool; 4]> = raws
        .iter()
        .map(|y| {
            call.recorded()
                && y.dtype().is_inexact()
                && !cx.constants.iter().any(|c| same_view(c, y))
        })
        .collect();
    if !varies.contains(&true) {
        return Ok(raws.iter().map(Tensor::detach).collect());
    }
    let (mut saved_kinds, mut saved) = (SmallVec::new(), SavedValues::new());
    for tensor in std::mem::take(&mut cx.tensors) {
        let role = kind(&call, inputs, &raws, tensor.as_ref());
        saved_kinds.push(tensor.as_ref().map_or(SavedKind::Nothing, |t| role.kind(t)));
        saved.push(tensor.map_or(Saved::None, |t| role.save(&t)));
    }
    cx.constants.clear();
    let rule = FunctionRule {
        function: function.clone(),
        cx,
        saved_kinds,
        inputs: inputs.iter().map(|x| ShapeDType::of(x)).collect(),
        outputs: raws.iter().map(ShapeDType::of).collect(),
    };
    let node = call.record(Box::new(rule), saved, raws.len(), Flags::NONE)?;
    let node = forward_ad::with_tangents(node, &raws)?;
    let attach = |(k, y): (usize, &Tensor)| {
        if varies[k] { output(&node, y, k, inputs.iter().copied()) } else { y.detach() }
    };
    Ok(raws.iter().enumerate().map(attach).collect())
}

fn kind(
    call: &FunctionCall,
    inputs: &[&Tensor],
    raws: &[Tensor],
    tensor: Option<&Tensor>,
) -> SavedRole {
    let Some(tensor) = tensor else {
        return SavedRole::Nothing;
    };
    if let Some(i) = call.input_like(inputs, tensor) {
        return SavedRole::Input(i as u32);
    }
    match raws.iter().position(|y| same_view(y, tensor)) {
        Some(k) => SavedRole::Output(k as u32),
        None => SavedRole::Other,
    }
}

/// The rule that calls a `Function`'s backward.
struct FunctionRule<F> {
    function: F,
    cx: FunctionContext,
    saved_kinds: SmallVec<[SavedKind; 4]>,
    inputs: SmallVec<[ShapeDType; 2]>,
    outputs: SmallVec<[ShapeDType; 1]>,
}

impl<F: Function> FunctionRule<F> {
    /// The context of one backward call: saved values restored, needed inputs restricted to this pass.
    fn context(&self, cx: &mut Context<'_, Tensor>) -> Result<FunctionContext> {
        let mut own = self.cx.clone();
        own.needs = (0..self.inputs.len()).map(|i| cx.wants(i)).collect();
        for (i, &kind) in self.saved_kinds.iter().enumerate() {
            own.tensors.push(match kind {
                SavedKind::Nothing => None,
                SavedKind::Intermediate if cx.create_graph() => {
                    let edge = intermediate_edge(self.function.name(), cx);
                    Some(cx.saved(i)?.detach().attach(edge))
                }
                SavedKind::Intermediate => Some(cx.saved(i)?),
                SavedKind::Tensor => Some(cx.saved_with_edge(i)?),
            });
        }
        Ok(own)
    }

    fn gradients(&self, cx: &mut Context<'_, Tensor>) -> Result<Vec<Option<Tensor>>> {
        if self.outputs.len() > 1 {
            require_all_gradients();
        }
        let take = |(k, spec): (usize, &ShapeDType)| match cx.take_grad(k) {
            None if !self.cx.raw_absent => spec.zeros().map(Some),
            grad => Ok(grad),
        };
        self.outputs.iter().enumerate().map(take).collect()
    }
}

impl<F: Function> Rule<Tensor> for FunctionRule<F> {
    fn name(&self) -> Cow<'static, str> {
        self.function.name()
    }

    fn backward(&self, cx: &mut Context<'_, Tensor>) -> Result<()> {
        let own = self.context(cx)?;
        let grads = self.gradients(cx)?;
        let run = || self.function.backward(&own, &grads);
        let returned = if cx.create_graph() {
            // Values that forward stored outside the context are guarded as well.
            with_cut_edge(intermediate_edge(self.function.name(), cx), run)?
        } else {
            run()?
        };
        let name = self.function.name();
        let mut check = GradientCheck::new(&name, true);
        let expected = self.inputs.len();
        check
            .count(expected, returned.len(), || returned[expected..].iter().all(Option::is_none))?;
        let mut fitted: SmallVec<[(usize, Tensor); 2]> = SmallVec::new();
        for (i, (gradient, spec)) in returned.into_iter().zip(&self.inputs).enumerate() {
            let Some(gradient) = gradient else { continue };
            if let Some(gradient) = check.fit(i, gradient, spec)? {
                fitted.push((i, gradient));
            }
        }
        check.finish()?;
        for (i, gradient) in fitted {
            if cx.wants(i) {
                cx.give(i, if cx.create_graph() { gradient } else { gradient.detach() })?;
            }
        }
        Ok(())
    }
}
