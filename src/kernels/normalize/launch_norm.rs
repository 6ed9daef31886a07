//! Launches of row normalisation in a trace, whose parameters are optional.
//!
//! Invariant: a replay has the same operands as the traced call.

use std::sync::Arc;

use super::rows::{Gradients, rows_backward, rows_forward};
use crate::array::observer;
use crate::kernels::launch::{self, KernelFn, Launch, LaunchKind};
use crate::kernels::view::{View, ViewMut};

/// Launches a forward pass.
pub(super) fn forward(
    x: View,
    [weight, bias]: [Option<View>; 2],
    (eps, centred): (f64, bool),
    y: &ViewMut,
    stats: &ViewMut,
) -> observer::Pause {
    let some = [Some(x), weight, bias];
    let given = some.map(|view| view.is_some());
    let run: KernelFn = Arc::new(move |reads, writes, _| {
        let [x, weight, bias] = restore_optional(given, reads);
        let [y, stats] = writes else { unreachable!("the results of normalize") };
        rows_forward(x.expect("x is given"), [weight, bias], eps, centred, y, stats);
        Ok(())
    });
    launch::trace_launch(Launch {
        name: "normalize",
        reads: some.iter().flatten().map(Into::into).collect(),
        writes: [y, stats].into_iter().map(Into::into).collect(),
        work: LaunchKind::Kernel(run),
    })
}

/// Launches a backward pass.
pub(super) fn backward(
    [x, stats, g]: [View; 3],
    weight: Option<View>,
    centred: bool,
    out: &Gradients,
) -> observer::Pause {
    let some = [Some(x), weight, Some(stats), Some(g)];
    let given = some.map(|view| view.is_some());
    let results = [&out.x, &out.weight, &out.bias];
    let wanted = results.map(Option::is_some);
    let run: KernelFn = Arc::new(move |reads, writes, _| {
        let [Some(x), weight, Some(stats), Some(g)] = restore_optional(given, reads) else {
            unreachable!("the operands of normalize_backward")
        };
        let mut writes = writes.iter_mut();
        let [x_out, weight_out, bias_out] =
            wanted.map(|wanted| if wanted { writes.next().map(ViewMut::reborrow) } else { None });
        let out = Gradients { x: x_out, weight: weight_out, bias: bias_out };
        rows_backward(x, weight, stats, g, centred, out)
    });
    launch::trace_launch(Launch {
        name: "normalize_backward",
        reads: some.iter().flatten().map(Into::into).collect(),
        writes: results.into_iter().flatten().map(Into::into).collect(),
        work: LaunchKind::Kernel(run),
    })
}

/// Puts the given views back into their optional positions.
fn restore_optional<'a, const N: usize>(
    given: [bool; N],
    views: &[View<'a>],
) -> [Option<View<'a>>; N] {
    let mut views = views.iter().copied();
    given.map(|given| if given { views.next() } else { None })
}
