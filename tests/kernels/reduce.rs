//! Reductions against naive loops, over shapes, memory orders and axis sets.

use crate::strided::{ORDERS, Order, Rng, StridedSet, read, written};
use ferrograd::dtype::Element;
use ferrograd::kernels::reduce::{Reduction, arg_reduce, reduce};
use ferrograd::threads::set_num_threads;
use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn};

const SHAPES: &[&[usize]] = &[
    &[],
    &[1],
    &[7],
    &[100],
    &[3, 5],
    &[1, 9],
    &[33, 2],
    &[40, 70],
    &[2, 3, 4],
    &[5, 1, 6],
    &[20, 3, 30],
    &[3, 2, 4, 5],
    &[2, 3, 1, 2, 3],
    &[3000],
    &[2100, 2],
    &[3, 1500],
];

/// Every set of axes of `ndim` axes.
fn axis_sets(ndim: usize) -> Vec<Vec<usize>> {
    (0..1usize << ndim).map(|bits| (0..ndim).filter(|&a| bits >> a & 1 == 1).collect()).collect()
}

fn kept(dims: &[usize], axes: &[usize], keepdims: bool) -> Vec<usize> {
    let one = |a: usize| if axes.contains(&a) { 1 } else { dims[a] };
    (0..dims.len()).filter(|a| keepdims || !axes.contains(a)).map(one).collect()
}

/// The fold of all elements that share a position of the kept axes.
fn naive<T: Copy, R: Clone>(
    view: &ArrayViewD<T>,
    axes: &[usize],
    start: R,
    mut step: impl FnMut(&R, T) -> R,
) -> ArrayD<R> {
    let mut out = ArrayD::from_elem(IxDyn(&kept(view.shape(), axes, true)), start);
    for (index, &value) in view.indexed_iter() {
        let at: Vec<usize> =
            (0..view.ndim()).map(|a| if axes.contains(&a) { 0 } else { index[a] }).collect();
        let slot = &mut out[IxDyn(&at)];
        *slot = step(slot, value);
    }
    out
}

fn check<T: Element, R: Element>(
    op: Reduction,
    make: impl Fn(&mut Rng) -> T,
    start: R,
    step: impl Fn(&R, T) -> R,
) {
    assert_eq!(op.out_dtype(T::DTYPE), R::DTYPE);
    let mut rng = Rng(7);
    for dims in SHAPES {
        for order in ORDERS {
            let src = StridedSet::new(dims, order, || make(&mut rng));
            let view = src.view();
            for axes in axis_sets(dims.len()) {
                let expected = naive(&view, &axes, start, &step);
                for keepdims in [true, false] {
                    let shape = kept(dims, &axes, keepdims);
                    let to = if keepdims { Order::C } else { order };
                    let got = written(&shape, to, start, |out| {
                        reduce(op, read(&view), &axes, out).unwrap();
                    });
                    let same = got.iter().zip(expected.iter()).all(|(a, b)| a == b);
                    assert!(same, "{op:?} {} {dims:?} {order:?} {axes:?}", T::DTYPE);
                }
            }
        }
    }
}

// Multiples of 1/8 below 8: sums are exact in either width whatever the association.
#[test]
fn sums() {
    check(Reduction::Sum, |r| r.small(), 0.0f64, |s, x| s + x);
    check(Reduction::Sum, |r| r.small() as f32, 0.0f32, |s, x| s + x);
    check(Reduction::Sum, |r| r.next() as i64, 0i64, |s, x| s.wrapping_add(x));
    check(Reduction::Sum, |r| r.next() as i32, 0i64, |s, x| s.wrapping_add(x as i64));
    check(Reduction::Sum, |r| r.next() as u8, 0u64, |s, x| s + x as u64);
    check(Reduction::Sum, |r| r.next(), 0u64, |s, x| s.wrapping_add(x));
    check(Reduction::Sum, |r| r.next() as i16, 0i64, |s, x| s + x as i64);
    check(Reduction::Sum, |r| r.below(2) == 1, 0i64, |s, x| s + x as i64);
}

#[test]
fn products() {
    let unit = |r: &mut Rng| [1.0, -1.0, 1.0, -1.0][r.below(4)];
    check(Reduction::Prod, unit, 1.0f64, |s, x| s * x);
    check(Reduction::Prod, |r| r.next() as i32, 1i64, |s, x| s.wrapping_mul(x as i64));
}

#[test]
fn extremes() {
    check(Reduction::Max, |r| r.small(), f64::NEG_INFINITY, |s, x| s.max(x));
    check(Reduction::Min, |r| r.small() as f32, f32::INFINITY, |s, x| s.min(x));
    check(Reduction::Max, |r| r.next() as i64, i64::MIN, |s, x| (*s).max(x));
    check(Reduction::Min, |r| r.next() as u8, u8::MAX, |s, x| (*s).min(x));
    check(Reduction::Max, |r| r.below(9) == 0, false, |s, x| *s | x);
}

#[test]
fn truth() {
    check(Reduction::Any, |r| r.below(20) as f64 - 19.0, false, |s, x| *s | (x != 0.0));
    check(Reduction::All, |r| r.below(20) as i64, true, |s, x| *s & (x != 0));
    check(Reduction::Count, |r| r.below(3) as u8, 0i64, |s, x| s + (x != 0) as i64);
    check(Reduction::Count, |r| r.below(3) == 0, 0i64, |s, x| s + x as i64);
}

#[test]
fn of_nothing() {
    let src = StridedSet::new(&[2, 0], Order::C, || 1.0f64);
    let view = src.view();
    let run =
        |op| written(&[2], Order::C, 9.0f64, |out| reduce(op, read(&view), &[1], out).unwrap());
    let sum = run(Reduction::Sum);
    assert!(sum.iter().all(|v| *v == 0.0 && v.is_sign_positive()));
    assert!(run(Reduction::Prod).iter().all(|v| *v == 1.0));
    assert!(!Reduction::Max.has_identity() && Reduction::Sum.has_identity());
    let none = written(&[0], Order::C, 9.0f64, |out| {
        reduce(Reduction::Sum, read(&view), &[0], out).unwrap();
    });
    assert_eq!(none.len(), 0);
}

#[test]
fn nan_propagates_wherever_it_stands() {
    for n in [1usize, 5, 9, 40, 65, 1030] {
        for at in [0, n / 2, n - 1] {
            for order in [Order::C, Order::EverySecond] {
                let mut i = 0;
                let src = StridedSet::new(&[n, 3], order, || 0.0f64);
                let mut array = src.view().to_owned();
                array.map_inplace(|v| {
                    *v = i as f64;
                    i += 1
                });
                array[[at, 1]] = f64::NAN;
                let view = array.view();
                for op in [Reduction::Max, Reduction::Min, Reduction::Sum] {
                    let got = written(&[3], Order::C, 0.0f64, |out| {
                        reduce(op, read(&view), &[0], out).unwrap();
                    });
                    assert!(
                        got[[1]].is_nan() && !got[[0]].is_nan() && !got[[2]].is_nan(),
                        "{op:?}"
                    );
                    let got = written(&[], Order::C, 0.0f64, |out| {
                        reduce(op, read(&view), &[0, 1], out).unwrap();
                    });
                    assert!(got.first().unwrap().is_nan(), "{op:?} {n} {at}");
                }
                let first = written(&[3], Order::C, 0i64, |out| {
                    arg_reduce(true, read(&view), 0, out).unwrap();
                });
                assert_eq!(first[[1]], at as i64);
            }
        }
    }
}

#[test]
fn large_sums_are_accurate_and_the_same_at_any_thread_count() {
    let mut rng = Rng(11);
    for dims in [&[3_000_001][..], &[1500, 1400], &[100_000, 7], &[7, 200_001], &[60, 70, 301]] {
        let src = StridedSet::new(dims, Order::C, || rng.small() + 0.1);
        let view = src.view();
        for axes in axis_sets(dims.len()).into_iter().filter(|a| !a.is_empty()) {
            let shape = kept(dims, &axes, false);
            let sum = |threads| {
                set_num_threads(threads);
                written(&shape, Order::C, 0.0f64, |out| {
                    reduce(Reduction::Sum, read(&view), &axes, out).unwrap();
                })
            };
            let (one, two, five) = (sum(1), sum(2), sum(5));
            let bits = |a: &ArrayD<f64>| a.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert!(bits(&one) == bits(&two) && bits(&one) == bits(&five), "{dims:?} {axes:?}");
            let exact = naive(&view, &axes, (0.0, 0.0), |&(hi, lo): &(f64, f64), x: f64| {
                let sum = hi + x;
                let lost = if hi.abs() >= x.abs() { (hi - sum) + x } else { (x - sum) + hi };
                (sum, lo + lost)
            });
            for (got, (hi, lo)) in one.iter().zip(exact.iter()) {
                let want = hi + lo;
                assert!((got - want).abs() <= 1e-11 * want.abs().max(1.0), "{got} for {want}");
            }
        }
    }
}

fn naive_arg<T: Element>(view: &ArrayViewD<T>, axis: usize, largest: bool) -> ArrayD<i64> {
    view.map_axis(Axis(axis), |lane| {
        let mut best = 0;
        for (i, x) in lane.iter().enumerate() {
            let (x, b) = (x.to_f64(), lane[best].to_f64());
            if (if largest { x > b } else { x < b }) || (x.is_nan() && !b.is_nan()) {
                best = i;
            }
        }
        best as i64
    })
}

fn check_arg<T: Element>(make: impl Fn(&mut Rng) -> T) {
    let mut rng = Rng(5);
    for dims in SHAPES.iter().copied().chain([&[300_001][..], &[3, 4, 2000], &[2000, 600]]) {
        for order in ORDERS {
            let src = StridedSet::new(dims, order, || make(&mut rng));
            let view = src.view();
            for axis in 0..dims.len() {
                for largest in [true, false] {
                    let shape = kept(dims, &[axis], false);
                    let got = written(&shape, Order::C, -1i64, |out| {
                        arg_reduce(largest, read(&view), axis, out).unwrap();
                    });
                    let want = naive_arg(&view, axis, largest);
                    assert!(got == want, "{} {dims:?} {order:?} axis {axis}", T::DTYPE);
                }
            }
        }
    }
}

#[test]
fn arg_reductions_find_the_first() {
    check_arg(|r| r.small());
    check_arg(|r| if r.below(50) == 0 { f32::NAN } else { r.small() as f32 });
    check_arg(|r| r.below(40) as i64 - 20);
    check_arg(|r| r.below(2) == 1);
    check_arg(|r| [f64::NEG_INFINITY, f64::INFINITY, f64::NAN][r.below(2)]);
}
