//! A kernel takes the type of its loop from its views, and refuses those that do not belong together.

use crate::strided::{Order, read, written};
use ferrograd::dtype::{Complex64, Complex128, DType, Element, Half};
use ferrograd::kernels::convolution::convolve_full;
use ferrograd::kernels::index::offsets_where;
use ferrograd::kernels::scan::{Scan, recurrence, scan};
use ferrograd::kernels::softmax::softmax;
use ferrograd::kernels::sort::arg_order;
use ferrograd::kernels::{Reduction, ViewMut, cast, copy, matmul, reduce, select};
use ndarray::{ArrayD, Dimension, IxDyn};

fn array<T: Element>(dims: &[usize]) -> ArrayD<T> {
    ArrayD::from_shape_fn(IxDyn(dims), |i| T::from_f64(i.slice().iter().sum::<usize>() as f64))
}

/// What a kernel says that writes to an output of type `T`.
fn refusal<T: Element>(dims: &[usize], kernel: impl FnOnce(ViewMut)) -> String {
    let run = || written(dims, Order::C, T::from_f64(0.0), kernel);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err("refused");
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default()
}

#[test]
fn operands_of_several_dtypes_are_refused() {
    let (wide, narrow) = (array::<f64>(&[3, 3]), array::<f32>(&[3, 3]));
    let (wide, narrow) = (wide.view(), narrow.view());
    let mixed = "a kernel takes operands of one dtype and was given [F64, F32";
    let dims = &[3, 3];
    assert!(refusal::<f32>(dims, |out| copy(read(&wide), out)).starts_with(mixed));
    assert!(refusal::<f32>(dims, |out| softmax(read(&wide), 1, out)).starts_with(mixed));
    assert!(
        refusal::<f64>(dims, |out| matmul(read(&wide), read(&narrow), &out).unwrap())
            .starts_with(mixed)
    );
    assert!(
        refusal::<f32>(dims, |out| scan(Scan::Sum, read(&wide), 0, out).unwrap())
            .starts_with(mixed)
    );
}

#[test]
fn a_dtype_without_a_loop_is_refused() {
    let whole = array::<i64>(&[3]);
    let (whole, truth) = (whole.view(), array::<bool>(&[3]));
    let truth = truth.view();
    let floats = "a kernel of floats was given int64";
    assert_eq!(refusal::<i64>(&[3], |out| softmax(read(&whole), 0, out)), floats);
    assert_eq!(
        refusal::<i64>(&[3], |out| scan(Scan::LogSum, read(&whole), 0, out).unwrap()),
        floats
    );
    assert_eq!(
        refusal::<i64>(&[3], |out| recurrence(read(&whole), read(&whole), 0, out).unwrap()),
        floats
    );
    let out = |out: ViewMut| reduce(Reduction::SumSquares, read(&whole), &[0], out).unwrap();
    assert_eq!(refusal::<i64>(&[], out), floats);
    let numbers = "a kernel of real numbers was given bool";
    assert_eq!(
        refusal::<bool>(&[5], |out| convolve_full(read(&truth), read(&truth), out).unwrap()),
        numbers
    );
}

#[test]
fn an_output_of_another_dtype_than_the_result_is_refused() {
    let x = array::<f64>(&[4]);
    let x = x.view();
    let sum = |out: ViewMut| reduce(Reduction::Sum, read(&x), &[0], out).unwrap();
    assert_eq!(refusal::<i64>(&[], sum), "reduce: Sum of float64 into int64");
    let order = |out: ViewMut| arg_order(false, read(&x), 0, out).unwrap();
    assert_eq!(refusal::<f64>(&[4], order), "arg_order writes indices");
    let chosen = |out: ViewMut| select(read(&x), read(&x), read(&x), out);
    assert_eq!(refusal::<f64>(&[4], chosen), "a mask is boolean");
    assert!(std::panic::catch_unwind(|| offsets_where(read(&x), &[1])).is_err());
}

#[test]
fn every_dtype_converts_to_every_other() {
    fn from<A: Element>() {
        fn to<A: Element, B: Element>() {
            let x = array::<A>(&[5]);
            let got = written(&[5], Order::C, B::from_f64(0.0), |out| cast(read(&x.view()), out));
            for (got, x) in got.iter().zip(&x) {
                assert_eq!(got.to_f64(), B::from_f64(x.to_f64()).to_f64());
            }
        }
        to::<A, f64>();
        to::<A, f32>();
        to::<A, i64>();
        to::<A, i32>();
        to::<A, u8>();
        to::<A, bool>();
        to::<A, u64>();
        to::<A, i16>();
        to::<A, i8>();
        to::<A, u32>();
        to::<A, u16>();
        to::<A, Half>();
        to::<A, Complex64>();
        to::<A, Complex128>();
    }
    from::<f64>();
    from::<f32>();
    from::<i64>();
    from::<i32>();
    from::<u8>();
    from::<bool>();
    from::<u64>();
    from::<i16>();
    from::<i8>();
    from::<u32>();
    from::<u16>();
    from::<Half>();
    from::<Complex64>();
    from::<Complex128>();
    assert_eq!(DType::ALL.len(), 14);
}
