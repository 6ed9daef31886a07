//! How kernels and windows move over images, read from what a user gives.
//!
//! Owns: the checks of sizes, strides, paddings and dilations, and the sizes of results. Never touches an element.
//! Invariant: a geometry that leaves here describes arrays that memory can address.

use crate::error::{Dims, Error, Result};
use crate::kernels::convolution::Geometry;
use crate::ops::core::op_decl::Ints;
use crate::tensor::Tensor;

pub(super) type Pair = [usize; 2];

#[cold]
pub(super) fn bad(op: &'static str, what: String, remedy: &str) -> Box<Error> {
    Box::new(Error::Argument { op: op.into(), what, remedy: remedy.into() })
}

#[cold]
pub(super) fn unfit(op: &'static str, what: String, remedy: &'static str) -> Box<Error> {
    Box::new(Error::Shape { op: op.into(), what, remedy })
}

/// One number per spatial axis, of `axes` 1 or 2; a missing first axis gets `first`.
pub(super) fn pair(
    op: &'static str,
    name: &str,
    given: &Ints,
    axes: usize,
    first: usize,
    least: i64,
) -> Result<Pair> {
    let fits = given.len() == 1 || given.len() == axes;
    // What memory cannot address is refused here, so that sums of a few of them never overflow.
    if !fits || given.iter().any(|&v| v < least || v > 1 << 40) {
        let want = if axes == 1 { "one integer" } else { "an integer or a pair of integers" };
        return Err(bad(
            op,
            format!("{name}={:?}", given.as_slice()),
            &format!("give {want} of at least {least}"),
        ));
    }
    let value = |i: usize| given[i.min(given.len() - 1)] as usize;
    Ok(if axes == 1 { [first, value(0)] } else { [value(0), value(1)] })
}

/// How far a kernel reaches along an axis.
pub(super) fn reach(kernel: usize, dilation: usize) -> Option<usize> {
    kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)
}

/// The movement of a kernel along both axes.
#[derive(Clone, Copy)]
pub(super) struct ConvParams {
    pub(super) stride: Pair,
    pub(super) padding: Pair,
    pub(super) dilation: Pair,
}

impl ConvParams {
    pub(super) fn of(
        op: &'static str,
        axes: usize,
        stride: &Ints,
        padding: &Ints,
        dilation: &Ints,
    ) -> Result<ConvParams> {
        Ok(ConvParams {
            stride: pair(op, "stride", stride, axes, 1, 1)?,
            padding: pair(op, "padding", padding, axes, 0, 0)?,
            dilation: pair(op, "dilation", dilation, axes, 1, 1)?,
        })
    }

    /// How many steps a kernel makes along an axis, with a last partial one if `up`.
    pub(super) fn steps(
        &self,
        op: &'static str,
        axis: usize,
        image: usize,
        kernel: usize,
        up: bool,
    ) -> Result<usize> {
        let (padding, stride) = (self.padding[axis], self.stride[axis]);
        let padded = image + 2 * padding;
        let room = reach(kernel, self.dilation[axis]).and_then(|reach| padded.checked_sub(reach));
        let Some(room) = room else {
            let what = format!(
                "a kernel of {kernel} with dilation {} over {padded} elements (padding included)",
                self.dilation[axis]
            );
            return Err(unfit(op, what, "use a smaller kernel or more padding"));
        };
        let steps = room / stride + 1;
        // A partial window must begin inside the image or the padding before it.
        Ok(if up && room % stride > 0 && steps * stride < image + padding {
            steps + 1
        } else {
            steps
        })
    }
}

/// The geometry of `x` (N, C, H, W) and `w` (O, C / groups, kh, kw).
pub(super) fn of_images(
    op: &'static str,
    x: &[usize],
    w: &[usize],
    params: &ConvParams,
    groups: isize,
) -> Result<Geometry> {
    let groups = usize::try_from(groups)
        .ok()
        .filter(|&g| g > 0)
        .ok_or_else(|| bad(op, format!("groups={groups}"), "give at least 1"))?;
    if x[1] != w[1].saturating_mul(groups) || !w[0].is_multiple_of(groups) {
        let what = format!(
            "input of {} channels, weight of shape {} and {groups} groups",
            x[1],
            Dims::from(w)
        );
        return Err(unfit(
            op,
            what,
            "the weight is (out, in / groups, …), and groups divides both",
        ));
    }
    let result = [params.steps(op, 0, x[2], w[2], false)?, params.steps(op, 1, x[3], w[3], false)?];
    Ok(Geometry {
        batch: x[0],
        channels: [x[1], w[0]],
        image: [x[2], x[3]],
        kernel: [w[2], w[3]],
        result,
        stride: params.stride,
        padding: params.padding,
        dilation: params.dilation,
        groups,
    })
}

/// The dims of `x` as planes with two spatial axes, of which one is new when `axes` is 1, and the planes' shape.
pub(super) fn planes(
    op: &'static str,
    x: &Tensor,
    axes: usize,
) -> Result<(Vec<usize>, usize, Pair)> {
    let Some(lead) = x.ndim().checked_sub(axes) else {
        return Err(unfit(
            op,
            format!("an input of shape {}", Dims::from(x.shape())),
            "give (…, length) or (…, height, width)",
        ));
    };
    let (front, own) = x.shape().split_at(lead);
    Ok((
        front.to_vec(),
        front.iter().product(),
        if axes == 1 { [1, own[0]] } else { [own[0], own[1]] },
    ))
}
