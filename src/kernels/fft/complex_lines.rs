//! Complex discrete Fourier transforms along some axes.
//!
//! Each direction has its own plan. Invariant: the factor is applied once, along the last of the
//! axes to be transformed.

use std::sync::Arc;

use rustfft::Fft;
use rustfft::num_complex::Complex;

use super::axis_pass::{LineSource, LineTransform, run};
use super::batched;
use super::columns;
use super::complex_plan::plan;
use super::float::{Real, scale};
use crate::dtype::DType;
use crate::kernels::copy::copy;
use crate::kernels::launch::launch;
use crate::kernels::view::{View, ViewMut, one_dtype};
use crate::kernels::workspace::{WorkspaceSlices, bytes_of};

struct ComplexLines<T: Real> {
    plan: Arc<dyn Fft<T>>,
    factor: T,
}

impl<T: Real> LineTransform for ComplexLines<T> {
    type In = Complex<T>;
    type Out = Complex<T>;

    fn lengths(&self) -> [usize; 2] {
        [self.plan.len(); 2]
    }

    fn lines_per_call(&self) -> usize {
        batched::lines_per_call::<T>(self.plan.len())
    }

    fn workspace_bytes(&self, _: usize) -> usize {
        let most = self.plan.get_inplace_scratch_len().max(self.plan.get_immutable_scratch_len());
        bytes_of::<Complex<T>>(most)
    }

    fn transform(
        &self,
        source: LineSource<'_, Complex<T>>,
        out: &mut [Complex<T>],
        mut workspace: WorkspaceSlices<'_>,
    ) {
        if let Some(lines) = source.as_contiguous() {
            let scratch = workspace.take(self.plan.get_immutable_scratch_len());
            self.plan.process_immutable_with_scratch(lines, out, scratch);
        } else {
            if !source.in_place {
                source.gather(out);
            }
            let scratch = workspace.take(self.plan.get_inplace_scratch_len());
            self.plan.process_with_scratch(out, scratch);
        }
        if self.factor != T::one() {
            scale(out, self.factor);
        }
    }
}

/// Writes `factor` times the discrete Fourier transform of `input` along the axes: the sums of `x
/// e^(-2πi jk/n)` if `forward`, else of `x e^(2πi jk/n)`. Input and output may be the same memory
/// with the same strides.
///
/// # Panics
/// If the dims differ or the dtype is not complex, which are bugs of the caller.
pub fn complex_to_complex(input: View, axes: &[usize], forward: bool, factor: f64, out: ViewMut) {
    launch!(
        "fft", [input] => [out]; axes = axes.to_vec();
        match one_dtype([input.dtype, out.dtype]) {
            DType::C64 => transform_axes::<f32>(input, &axes, forward, factor, out),
            _ => transform_axes::<f64>(input, &axes, forward, factor, out),
        }
    );
}

fn transform_axes<T: Real>(input: View, axes: &[usize], forward: bool, factor: f64, out: ViewMut) {
    assert!(input.dtype.is_complex() && input.dims == out.dims, "fft: operands");
    assert!(!std::ptr::eq(input.ptr, out.ptr) || input.strides == out.strides, "fft: strides");
    if out.dims.contains(&0) {
        return;
    }
    // From the last axis to the first, in NumPy's order.
    let mut source = (!std::ptr::eq(input.ptr, out.ptr)).then_some(input);
    for (left, &axis) in axes.iter().enumerate().rev() {
        let factor = if left == 0 { T::narrow(factor) } else { T::one() };
        let input = source.take();
        if !columns::run(input, &out, axis, forward, factor) {
            let plan = plan::<T>(out.dims[axis], forward);
            run(&ComplexLines { plan, factor }, input, &out, axis);
        }
    }
    if let Some(input) = source {
        copy(input, out);
    }
}
