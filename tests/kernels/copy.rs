//! copy, cast and fill against ndarray, over shapes and memory orders.

use crate::strided::{ORDERS, Order, Rng, StridedSet, read, written};
use ferrograd::dtype::Element;
use ferrograd::kernels::cast::cast;
use ferrograd::kernels::copy::copy;
use ferrograd::kernels::fill::{fill, fill_int};

const SHAPES: &[&[usize]] = &[
    &[],
    &[1],
    &[7],
    &[0],
    &[3, 5],
    &[1, 9],
    &[40, 70],
    &[2, 3, 4],
    &[5, 1, 6],
    &[2, 0, 3],
    &[3, 2, 4, 5],
    &[2, 3, 1, 2, 3],
    // Runs that are moved without a call for each, of every element.
    &[5, 37],
    &[300, 3],
    &[3, 6, 9],
    &[2, 4, 64],
];

fn roundtrip<T: Element>(blank: T) {
    let mut rng = Rng(1);
    for dims in SHAPES {
        for from in ORDERS {
            for to in ORDERS {
                let src = StridedSet::new(dims, from, || T::from_f64(rng.small()));
                let view = src.view();
                let got = written(dims, to, blank, |out| copy(read(&view), out));
                assert_eq!(got, view, "{dims:?} from {from:?} to {to:?}");
            }
        }
    }
}

#[test]
fn copies_every_order_to_every_order() {
    roundtrip(0f64);
    roundtrip(0f32);
    roundtrip(0u8);
}

#[test]
fn copies_of_megabytes_are_split_and_complete() {
    let mut rng = Rng(2);
    for dims in [&[1000, 1001][..], &[1_000_003], &[3, 700, 501]] {
        for from in ORDERS {
            let src = StridedSet::new(dims, from, || rng.next() as i64);
            let view = src.view();
            for to in [Order::C, Order::Fortran] {
                let got = written(dims, to, 0i64, |out| copy(read(&view), out));
                assert!(got == view, "{dims:?} from {from:?} to {to:?}");
            }
        }
    }
}

#[test]
fn copy_reads_broadcast_axes() {
    let src = StridedSet::new(&[3, 1], Order::C, {
        let mut i = 0;
        move || {
            i += 1;
            i
        }
    });
    let wide = src.view().broadcast(ndarray::IxDyn(&[2, 3, 4])).unwrap().to_owned();
    let view = src.view();
    let wide_view = view.broadcast(ndarray::IxDyn(&[2, 3, 4])).unwrap();
    let got = written(&[2, 3, 4], Order::C, 0i32, |out| copy(read(&wide_view), out));
    assert_eq!(got, wide);
}

fn casts<A: Element, B: Element>(values: &[A], expected: &[B], blank: B) {
    for order in ORDERS {
        let mut at = 0;
        let src = StridedSet::new(&[values.len()], Order::C, || {
            at += 1;
            values[at - 1]
        });
        let view = src.view();
        let got = written(&[values.len()], order, blank, |out| {
            cast(read(&view), out);
        });
        let got: Vec<B> = got.iter().copied().collect();
        assert_eq!(got, expected, "{} to {}", A::DTYPE, B::DTYPE);
    }
}

#[test]
fn casts_follow_numpy() {
    let floats = [0.0, -0.0, 1.5, -2.5, 300.0, 1e20, f64::NAN];
    casts(&floats[..5], &[0i64, 0, 1, -2, 300], 9);
    casts(&floats[..6], &[0.0f32, -0.0, 1.5, -2.5, 300.0, 1e20], 9.0);
    casts(&floats, &[false, false, true, true, true, true, true], false);
    casts(&[1e20, -1e20, f64::NAN], &[i32::MIN; 3], 9);
    casts(&[1e20, -1e20, f64::NAN], &[i64::MIN; 3], 9);
    casts(&[300.0, -1.0, -2.5], &[44u8, 255, 254], 9);
    casts(&[0i64, 1, -1, 1 << 40], &[0i32, 1, -1, 0], 9);
    casts(&[0i64, 255, 256, -1], &[0u8, 255, 0, 255], 9);
    casts(&[0i64, 2, -1], &[false, true, true], false);
    casts(&[true, false, true], &[1.0f64, 0.0, 1.0], 9.0);
    casts(&[true, false, true], &[1u8, 0, 1], 9);
    casts(&[0u8, 200, 255], &[0.0f32, 200.0, 255.0], 9.0);
    casts(&[i32::MIN, i32::MAX], &[i32::MIN as f64, i32::MAX as f64], 9.0);
}

#[test]
fn casts_every_order_and_size() {
    let mut rng = Rng(3);
    for dims in SHAPES.iter().copied().chain([&[900, 801][..], &[700_001], &[4, 300_000]]) {
        for order in ORDERS {
            let src = StridedSet::new(dims, order, || rng.small());
            let view = src.view();
            let got = written(dims, Order::C, 0f32, |out| {
                cast(read(&view), out);
            });
            assert!(got == view.mapv(|v| v as f32), "{dims:?} {order:?}");
        }
    }
}

#[test]
fn fill_stays_inside_the_view() {
    for dims in SHAPES.iter().copied().chain([&[1200, 1100][..]]) {
        for order in ORDERS {
            let got = written(dims, order, 1.0f64, |out| fill(2.5, out));
            assert!(got.iter().all(|&v| v == 2.5), "{dims:?} {order:?}");
        }
    }
    let mut out = StridedSet::new(&[4], Order::EverySecond, || 7i64);
    {
        let mut view = out.view_mut();
        let (dims, strides) = (view.shape().to_vec(), view.strides().to_vec());
        fill_int(i64::MAX, crate::strided::write(&mut view, &dims, &strides));
    }
    assert!(out.view().iter().all(|&v| v == i64::MAX));
    let got = written(&[3], Order::C, true, |out| fill(0.0, out));
    assert!(got.iter().all(|&v| !v));
}
