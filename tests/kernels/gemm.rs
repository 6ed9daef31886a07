//! Matrix products against a naive triple loop, over shapes, strides, dtypes and batches.

use crate::strided::{ORDERS, Order, Rng, StridedSet, read, written};
use ferrograd::dtype::{Complex64, Complex128, Element};
use ferrograd::kernels::gemm::{matmul, matmul_batch};
use ferrograd::threads::set_num_threads;
use ndarray::{ArrayD, ArrayViewD, Dimension, IxDyn};

fn naive<T: Element>(
    a: &ArrayViewD<T>,
    b: &ArrayViewD<T>,
    zero: T,
    muladd: impl Fn(T, T, T) -> T,
) -> ArrayD<T> {
    let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[1]);
    let (a, b): (Vec<T>, Vec<T>) = (a.iter().copied().collect(), b.iter().copied().collect());
    ArrayD::from_shape_fn(IxDyn(&[m, n]), |at| {
        (0..k).fold(zero, |sum, p| muladd(sum, a[at[0] * k + p], b[p * n + at[1]]))
    })
}

const SIZES: &[[usize; 3]] = &[
    [1, 1, 1],
    [2, 3, 4],
    [1, 5, 7],
    [5, 1, 7],
    [5, 7, 1],
    [8, 8, 8],
    [17, 9, 33],
    [0, 3, 2],
    [3, 0, 2],
    [3, 2, 0],
    [33, 20, 26],
];

fn check<T: Element>(make: impl Fn(&mut Rng) -> T, zero: T, muladd: impl Fn(T, T, T) -> T + Copy) {
    let mut rng = Rng(3);
    for &[m, k, n] in SIZES {
        for of_a in ORDERS {
            for of_b in ORDERS {
                let a = StridedSet::new(&[m, k], of_a, || make(&mut rng));
                let b = StridedSet::new(&[k, n], of_b, || make(&mut rng));
                let (a, b) = (a.view(), b.view());
                let want = naive(&a, &b, zero, muladd);
                for to in ORDERS {
                    let got = written(&[m, n], to, T::from_f64(1.0), |out| {
                        matmul(read(&a), read(&b), &out).unwrap();
                    });
                    assert!(got == want, "{} {m} {k} {n} {of_a:?} {of_b:?} {to:?}", T::DTYPE);
                }
            }
        }
    }
}

// Integers below 5: products of these sizes are exact in both widths.
#[test]
fn every_dtype_and_order() {
    check(|r| r.below(9) as f64 - 4.0, 0.0, |c, a, b| c + a * b);
    check(|r| r.below(9) as f32 - 4.0, 0.0, |c, a, b| c + a * b);
    check(|r| r.next() as i64, 0, |c, a, b| c.wrapping_add(a.wrapping_mul(b)));
    check(|r| r.next() as i32, 0, |c, a, b| c.wrapping_add(a.wrapping_mul(b)));
    check(|r| r.next() as u8, 0, |c, a, b| c.wrapping_add(a.wrapping_mul(b)));
    check(|r| r.below(4) == 0, false, |c, a, b| c | (a & b));
    let part = |r: &mut Rng| r.below(9) as f64 - 4.0;
    check(|r| Complex128::new(part(r), part(r)), Complex128::default(), |c, a, b| c + a * b);
    let part = |r: &mut Rng| r.below(9) as f32 - 4.0;
    check(|r| Complex64::new(part(r), part(r)), Complex64::default(), |c, a, b| c + a * b);
}

#[test]
fn large_products_are_the_same_at_any_thread_count() {
    let mut rng = Rng(9);
    for [m, k, n] in [[300, 200, 310], [50, 300, 1000], [1001, 70, 131], [200, 5000, 40]] {
        for (of_a, of_b) in
            [(Order::C, Order::C), (Order::Fortran, Order::C), (Order::C, Order::Fortran)]
        {
            let a = StridedSet::new(&[m, k], of_a, || rng.small() / 3.0);
            let b = StridedSet::new(&[k, n], of_b, || rng.small() / 3.0);
            let (a, b) = (a.view(), b.view());
            let run = |threads| {
                set_num_threads(threads);
                written(&[m, n], Order::C, f64::NAN, |out| {
                    matmul(read(&a), read(&b), &out).unwrap()
                })
            };
            let (one, two, five) = (run(1), run(2), run(5));
            assert!(one == two && one == five, "{m} {k} {n}");
            let matrix =
                |v: &ArrayViewD<f64>| v.to_owned().into_dimensionality::<ndarray::Ix2>().unwrap();
            let want = matrix(&a).dot(&matrix(&b));
            let scale = k as f64 * 10.0;
            assert!(
                one.iter().zip(&want).all(|(g, w)| (g - w).abs() < 1e-14 * scale),
                "{m} {k} {n}"
            );
        }
    }
}

/// The bits of a product must not tell into how many blocks it was cut: inner dimensions beyond one block of the
/// micro-kernels, sides near the least size of a block, every layout of operands and result, and vectors.
#[test]
fn no_element_depends_on_the_cut() {
    fn check<T: Element>(mut make: impl FnMut() -> T, zero: T) {
        let sizes =
            [[64, 1100, 200], [200, 1100, 65], [130, 1030, 129], [1, 1100, 4000], [4000, 1100, 1]];
        for [m, k, n] in sizes {
            for (of_a, of_b, of_c) in [
                (Order::C, Order::C, Order::C),
                (Order::Fortran, Order::C, Order::C),
                (Order::C, Order::Fortran, Order::C),
                (Order::Fortran, Order::C, Order::Fortran),
                (Order::C, Order::Fortran, Order::Fortran),
            ] {
                let a = StridedSet::new(&[m, k], of_a, &mut make);
                let b = StridedSet::new(&[k, n], of_b, &mut make);
                let (a, b) = (a.view(), b.view());
                let run = |threads| {
                    set_num_threads(threads);
                    written(&[m, n], of_c, zero, |out| matmul(read(&a), read(&b), &out).unwrap())
                };
                let one = run(1);
                for threads in [2, 5] {
                    assert!(run(threads) == one, "{m} {k} {n} {threads} {:?}", T::DTYPE);
                }
            }
        }
    }
    let mut rng = Rng(5);
    check(|| rng.small() / 3.0, 0.0f64);
    let mut rng = Rng(6);
    check(|| rng.small() as f32 / 3.0, 0.0f32);
    let mut rng = Rng(7);
    check(|| Complex128::new(rng.small() / 3.0, rng.small() / 7.0), Complex128::default());
    let mut rng = Rng(8);
    check(
        || Complex64::new(rng.small() as f32 / 3.0, rng.small() as f32 / 7.0),
        Complex64::default(),
    );
}

#[test]
fn batches_broadcast() {
    let mut rng = Rng(4);
    let shapes: &[(&[usize], &[usize], &[usize])] = &[
        (&[3, 4, 5], &[3, 5, 6], &[3, 4, 6]),
        (&[3, 4, 5], &[5, 6], &[3, 4, 6]),
        (&[4, 5], &[3, 5, 6], &[3, 4, 6]),
        (&[2, 1, 4, 5], &[3, 5, 6], &[2, 3, 4, 6]),
        (&[2, 3, 4, 5], &[1, 1, 5, 6], &[2, 3, 4, 6]),
        (&[7, 1, 5], &[5, 6], &[7, 1, 6]),
        (&[2, 0, 4, 5], &[5, 6], &[2, 0, 4, 6]),
        (&[2, 4, 0], &[0, 6], &[2, 4, 6]),
        (&[4, 5], &[5, 6], &[4, 6]),
        (&[40, 30, 50], &[40, 50, 60], &[40, 30, 60]),
        (&[40, 30, 50], &[50, 60], &[40, 30, 60]),
        (&[2, 200, 150], &[2, 150, 180], &[2, 200, 180]),
    ];
    for &(of_a, of_b, of_c) in shapes {
        for order in ORDERS {
            let a = StridedSet::new(of_a, order, || rng.below(9) as f64 - 4.0);
            let b = StridedSet::new(of_b, order, || rng.below(9) as f64 - 4.0);
            let (a, b) = (a.view(), b.view());
            for to in [Order::C, Order::Rotated] {
                let got = written(of_c, to, f64::NAN, |out| {
                    matmul_batch(read(&a), read(&b), &out).unwrap();
                });
                let batch = &of_c[..of_c.len() - 2];
                let spread = |v: &ArrayViewD<f64>| {
                    let dims = [batch, &v.shape()[v.ndim() - 2..]].concat();
                    v.broadcast(IxDyn(&dims)).unwrap().to_owned()
                };
                let (wide_a, wide_b) = (spread(&a), spread(&b));
                for index in ndarray::indices(batch) {
                    let pick = |v: &ArrayD<f64>| {
                        let mut v = v.clone();
                        for i in index.slice() {
                            v = v.index_axis(ndarray::Axis(0), *i).to_owned();
                        }
                        v
                    };
                    let want =
                        naive(&pick(&wide_a).view(), &pick(&wide_b).view(), 0.0, |c, a, b| {
                            c + a * b
                        });
                    assert!(pick(&got) == want, "{of_a:?} {of_b:?} {order:?} at {index:?}");
                }
            }
        }
    }
}
