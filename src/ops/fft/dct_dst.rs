//! Discrete cosine and sine transforms of types 1 to 4, along one or several axes.
//!
//! Expresses SciPy's definitions as factors and end weights of the kernel's plain sums. Invariant:
//! complex values are transformed by parts; an inverse is the transform of the inverse type with
//! its factor.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use crate::error::Result;
use crate::kernels::fft::{DctType, EdgeWeights};
use crate::ops::core::op_decl::{Axes, Ints};
use crate::ops::elementwise::complex::map_parts;
use crate::ops::fft::fft_arguments::{
    Norm, argument_error, as_real, refuse_repeated_axes, resolve_axes, resolve_axis,
    resolve_lengths,
};
use crate::ops::fft::transforms::{DctSpec, dct_or_dst, resize_axis};
use crate::tensor::Tensor;

/// The transform of a call: sine or cosine, type, direction, norm.
struct DctCall {
    op: &'static str,
    sine: bool,
    kind: isize,
    inverse: bool,
    norm: Norm,
    orthogonalize: bool,
}

impl DctCall {
    fn read(
        op: &'static str,
        kind: isize,
        norm: Option<String>,
        orthogonalize: Option<bool>,
    ) -> Result<DctCall> {
        if !(1..=4).contains(&kind) {
            return Err(argument_error(op, format!("type {kind}"), "use 1, 2, 3 or 4"));
        }
        let norm = Norm::read(op, norm)?;
        let orthogonalize = orthogonalize.unwrap_or(norm == Norm::Ortho);
        let bare = op.trim_start_matches('i');
        let (sine, inverse) = (bare.starts_with("dst"), bare != op);
        Ok(DctCall { op, sine, kind, inverse, norm, orthogonalize })
    }

    /// The transform of lines of `n` points.
    fn dct_spec(&self, n: usize) -> Result<DctSpec> {
        if self.kind == 1 && !self.sine && n < 2 {
            let what = format!("type 1 of {n} point");
            return Err(argument_error(
                self.op,
                what,
                "give at least 2 points, or use another type",
            ));
        }
        // The inverse is the transform whose product with the forward one is a multiple of the
        // identity.
        let kind = match (self.inverse, self.kind) {
            (true, 2) => 3,
            (true, 3) => 2,
            (_, own) => own,
        };
        let dct_type = DctType { sine: self.sine, kind: kind as u8 };
        let (mut weights, num_points) = match (self.sine, kind) {
            (false, 1) => (EdgeWeights { read: [0.5, 0.5], written: [1.0, 1.0] }, 2 * (n - 1)),
            (true, 1) => (NO_WEIGHTS, 2 * (n + 1)),
            (false, 3) => (EdgeWeights { read: [0.5, 1.0], ..NO_WEIGHTS }, 2 * n),
            (true, 3) => (EdgeWeights { read: [1.0, 0.5], ..NO_WEIGHTS }, 2 * n),
            _ => (NO_WEIGHTS, 2 * n),
        };
        if self.orthogonalize {
            weights = orthogonal_weights(weights, self.sine, kind);
        }
        let factor = 2.0 * self.norm.spec(!self.inverse, num_points).factor;
        Ok(DctSpec { dct_type, factor, weights })
    }

    fn transform_axis(&self, x: &Tensor, axis: usize, n: usize) -> Result<Tensor> {
        dct_or_dst(&resize_axis(x, axis, n)?, axis, self.dct_spec(n)?)
    }

    fn one_axis(&self, x: &Tensor, n: Option<isize>, axis: isize) -> Result<Tensor> {
        if x.dtype().is_complex() {
            return map_parts(x, |part| self.one_axis(part, n, axis));
        }
        let (axis, n) = resolve_axis(self.op, x, n, axis)?;
        self.transform_axis(&as_real(self.op, x)?, axis, n)
    }

    fn many_axes(&self, x: &Tensor, s: Option<&[i64]>, axes: &Axes) -> Result<Tensor> {
        if x.dtype().is_complex() {
            return map_parts(x, |part| self.many_axes(part, s, axes));
        }
        let (axes, requested) = resolve_axes(self.op, x, s, axes)?;
        refuse_repeated_axes(self.op, &axes)?;
        let lengths = resolve_lengths(self.op, x, &axes, &requested)?;
        let mut x = as_real(self.op, x)?;
        for (&axis, &n) in axes.iter().zip(&lengths) {
            x = self.transform_axis(&x, axis, n)?;
        }
        Ok(x)
    }
}

const NO_WEIGHTS: EdgeWeights = EdgeWeights { read: [1.0, 1.0], written: [1.0, 1.0] };

/// The end weights that make the matrix of a type orthogonal up to a factor.
fn orthogonal_weights(base: EdgeWeights, sine: bool, kind: isize) -> EdgeWeights {
    let times = |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a * c, b * d];
    let (read, written) = match (sine, kind) {
        (false, 1) => ([SQRT_2, SQRT_2], [FRAC_1_SQRT_2, FRAC_1_SQRT_2]),
        (false, 2) => ([1.0, 1.0], [FRAC_1_SQRT_2, 1.0]),
        (false, 3) => ([SQRT_2, 1.0], [1.0, 1.0]),
        (true, 2) => ([1.0, 1.0], [1.0, FRAC_1_SQRT_2]),
        (true, 3) => ([1.0, SQRT_2], [1.0, 1.0]),
        _ => ([1.0, 1.0], [1.0, 1.0]),
    };
    EdgeWeights { read: times(base.read, read), written: times(base.written, written) }
}

crate::operations! { family "cosine and sine transforms";
    /// SciPy's discrete cosine transform of the `type` 1 to 4 along an axis of `n` points; type 2 is `2 sum(x[j] cos(πk(2j+1)/(2n)))`. `norm` says which direction carries the factor; with "ortho" the ends are weighed so that the matrix is orthogonal, unless orthogonalize=False. Derivative: the transposed transform, again one of the four.
    [namespace("fft")]
    fn dct(x: Tensor, type_: isize = 2, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        DctCall::read("dct", type_, norm, orthogonalize)?.one_axis(x, n, axis)
    }
    /// The inverse of `dct` of the same type. Derivative: the transposed transform.
    [namespace("fft")]
    fn idct(x: Tensor, type_: isize = 2, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        DctCall::read("idct", type_, norm, orthogonalize)?.one_axis(x, n, axis)
    }
    /// SciPy's discrete sine transform of the `type` 1 to 4 along an axis of `n` points; type 2 is `2 sum(x[j] sin(π(k+1)(2j+1)/(2n)))`. Derivative: the transposed transform, again one of the four.
    [namespace("fft")]
    fn dst(x: Tensor, type_: isize = 2, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        DctCall::read("dst", type_, norm, orthogonalize)?.one_axis(x, n, axis)
    }
    /// The inverse of `dst` of the same type. Derivative: the transposed transform.
    [namespace("fft")]
    fn idst(x: Tensor, type_: isize = 2, n: Option<isize> = None, axis: isize = -1, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        DctCall::read("idst", type_, norm, orthogonalize)?.one_axis(x, n, axis)
    }
    /// `dct` along several axes, by default all. Derivative: the transposed transforms.
    [namespace("fft")]
    fn dctn(x: Tensor, type_: isize = 2, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        DctCall::read("dctn", type_, norm, orthogonalize)?.many_axes(x, s.as_deref(), &axes)
    }
    /// `idct` along several axes, by default all. Derivative: the transposed transforms.
    [namespace("fft")]
    fn idctn(x: Tensor, type_: isize = 2, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        DctCall::read("idctn", type_, norm, orthogonalize)?.many_axes(x, s.as_deref(), &axes)
    }
    /// `dst` along several axes, by default all. Derivative: the transposed transforms.
    [namespace("fft")]
    fn dstn(x: Tensor, type_: isize = 2, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        DctCall::read("dstn", type_, norm, orthogonalize)?.many_axes(x, s.as_deref(), &axes)
    }
    /// `idst` along several axes, by default all. Derivative: the transposed transforms.
    [namespace("fft")]
    fn idstn(x: Tensor, type_: isize = 2, s: Option<Ints> = None, axes: Axes = Axes::All, norm: Option<String> = None, orthogonalize: Option<bool> = None) -> Tensor {
        DctCall::read("idstn", type_, norm, orthogonalize)?.many_axes(x, s.as_deref(), &axes)
    }
}
