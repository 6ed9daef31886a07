//! Checks sizes, strides, paddings and dilations of convolution and pooling arguments, and computes
//! the geometry.
//!
//! Invariant: a returned geometry describes arrays that memory can address.

use crate::error::{Dims, Error, Result};
use crate::kernels::convolution::Geometry;
use crate::ops::core::op_decl::Ints;
use crate::tensor::Tensor;

pub(super) type Pair = [usize; 2];

#[cold]
pub(super) fn argument_error(op: &'static str, what: String, remedy: &str) -> Box<Error> {
    Box::new(Error::Argument { op: op.into(), what, remedy: remedy.into() })
}

#[cold]
pub(super) fn shape_error(op: &'static str, what: String, remedy: &'static str) -> Box<Error> {
    Box::new(Error::Shape { op: op.into(), what, remedy })
}

/// One number per spatial axis; with `axes` = 1, the missing first one is `first`.
pub(super) fn spatial_pair(
    op: &'static str,
    name: &str,
    given: &Ints,
    axes: usize,
    first: usize,
    min: i64,
) -> Result<Pair> {
    let fits = given.len() == 1 || given.len() == axes;
    // Values beyond addressable memory are refused, so that sums of a few of them cannot overflow.
    if !fits || given.iter().any(|&v| v < min || v > 1 << 40) {
        let want = if axes == 1 { "one integer" } else { "an integer or a pair of integers" };
        return Err(argument_error(
            op,
            format!("{name}={:?}", given.as_slice()),
            &format!("give {want} of at least {min}"),
        ));
    }
    let value = |i: usize| given[i.min(given.len() - 1)] as usize;
    Ok(if axes == 1 { [first, value(0)] } else { [value(0), value(1)] })
}

/// The extent of a dilated kernel along an axis.
pub(super) fn dilated_extent(kernel: usize, dilation: usize) -> Option<usize> {
    kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)
}

/// Stride, padding and dilation along both axes.
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
            stride: spatial_pair(op, "stride", stride, axes, 1, 1)?,
            padding: spatial_pair(op, "padding", padding, axes, 0, 0)?,
            dilation: spatial_pair(op, "dilation", dilation, axes, 1, 1)?,
        })
    }

    /// Output size along an axis, including a partial last window with `ceil_mode`.
    pub(super) fn output_size(
        &self,
        op: &'static str,
        axis: usize,
        image: usize,
        kernel: usize,
        ceil_mode: bool,
    ) -> Result<usize> {
        let (padding, stride) = (self.padding[axis], self.stride[axis]);
        let padded = image + 2 * padding;
        let free = dilated_extent(kernel, self.dilation[axis])
            .and_then(|dilated_extent| padded.checked_sub(dilated_extent));
        let Some(free) = free else {
            let what = format!(
                "a kernel of {kernel} with dilation {} over {padded} elements (padding included)",
                self.dilation[axis]
            );
            return Err(shape_error(op, what, "use a smaller kernel or more padding"));
        };
        let output_size = free / stride + 1;
        // A partial window must begin inside the image or the padding before it.
        Ok(if ceil_mode && free % stride > 0 && output_size * stride < image + padding {
            output_size + 1
        } else {
            output_size
        })
    }
}

/// The convolution geometry of `x` (N, C, H, W) and `w` (O, C / groups, kh, kw).
pub(super) fn convolution_geometry(
    op: &'static str,
    x: &[usize],
    w: &[usize],
    params: &ConvParams,
    groups: isize,
) -> Result<Geometry> {
    let groups = usize::try_from(groups)
        .ok()
        .filter(|&g| g > 0)
        .ok_or_else(|| argument_error(op, format!("groups={groups}"), "give at least 1"))?;
    if x[1] != w[1].saturating_mul(groups) || !w[0].is_multiple_of(groups) {
        let what = format!(
            "input of {} channels, weight of shape {} and {groups} groups",
            x[1],
            Dims::from(w)
        );
        return Err(shape_error(
            op,
            what,
            "the weight is (out, in / groups, …), and groups divides both",
        ));
    }
    let result = [
        params.output_size(op, 0, x[2], w[2], false)?,
        params.output_size(op, 1, x[3], w[3], false)?,
    ];
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

/// The leading dims of `x`, the number of planes, and the (height, width) of a plane; height is 1
/// when `axes` is 1.
pub(super) fn spatial_planes(
    op: &'static str,
    x: &Tensor,
    axes: usize,
) -> Result<(Vec<usize>, usize, Pair)> {
    let Some(lead) = x.ndim().checked_sub(axes) else {
        return Err(shape_error(
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
