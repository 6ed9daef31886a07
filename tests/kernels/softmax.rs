//! Fused softmax kernels against their definitions, forward and backward.

use crate::strided::{Order, Rng, StridedSet, read, written};
use ferrograd::kernels::softmax::*;
use ferrograd::threads::set_num_threads;
use ndarray::ArrayD;

const SHAPES: &[[usize; 2]] = &[[1, 1], [3, 5], [4, 33], [2, 1500], [70, 10], [0, 4], [500, 300]];

/// log-softmax of each row, by its definition in f64.
fn log_softmax_by_definition(x: &ArrayD<f64>) -> ArrayD<f64> {
    let mut out = x.clone();
    for mut row in out.rows_mut() {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|v| (v - top).exp()).sum();
        row.map_inplace(|v| *v = *v - top - sum.ln());
    }
    out
}

fn close(got: &ArrayD<f64>, want: &ArrayD<f64>, tolerance: f64, what: &str) {
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= tolerance * (1.0 + w.abs()), "{what}: {g} for {w}");
    }
}

fn both_widths(
    dims: &[usize],
    operands: &[&ArrayD<f64>],
    want: &ArrayD<f64>,
    what: &str,
    kernel: impl Fn(&[ferrograd::kernels::view::View], ferrograd::kernels::view::ViewMut),
) {
    let views: Vec<_> = operands.iter().map(|a| a.view()).collect();
    let read64: Vec<_> = views.iter().map(read).collect();
    let got = written(dims, Order::C, 0.0f64, |out| kernel(&read64, out));
    close(&got, want, 1e-13, what);
    let single: Vec<ArrayD<f32>> = operands.iter().map(|a| a.mapv(|v| v as f32)).collect();
    let views: Vec<_> = single.iter().map(|a| a.view()).collect();
    let read32: Vec<_> = views.iter().map(read).collect();
    let got = written(dims, Order::C, 0.0f32, |out| kernel(&read32, out));
    close(&got.mapv(|v| v as f64), want, 2e-5, what);
}

#[test]
fn forward_and_backward_follow_the_definitions() {
    let mut rng = Rng(1);
    for dims in SHAPES {
        let x = StridedSet::new(dims, Order::C, || rng.small()).view().to_owned();
        let g = StridedSet::new(dims, Order::C, || rng.small()).view().to_owned();
        let log = log_softmax_by_definition(&x);
        let soft = log.mapv(f64::exp);
        both_widths(dims, &[&x], &soft, "softmax", |v, out| softmax(v[0], 1, out));
        both_widths(dims, &[&x], &log, "log_softmax", |v, out| log_softmax(v[0], 1, out));
        let (mut back, mut log_back) = (g.clone(), g.clone());
        for r in 0..dims[0] {
            let dot: f64 = (0..dims[1]).map(|c| g[[r, c]] * soft[[r, c]]).sum();
            let sum: f64 = (0..dims[1]).map(|c| g[[r, c]]).sum();
            for c in 0..dims[1] {
                back[[r, c]] = soft[[r, c]] * (g[[r, c]] - dot);
                log_back[[r, c]] = g[[r, c]] - soft[[r, c]] * sum;
            }
        }
        both_widths(dims, &[&soft, &g], &back, "softmax_backward", |v, out| {
            softmax_backward(v[0], v[1], 1, out);
        });
        if dims[1] < 1000 {
            both_widths(dims, &[&log, &g], &log_back, "log_softmax_backward", |v, out| {
                log_softmax_backward(v[0], v[1], 1, out);
            });
        }
    }
}

#[test]
fn cross_entropy_and_its_gradient() {
    let mut rng = Rng(2);
    for dims in SHAPES {
        let [rows, classes] = *dims;
        let x = StridedSet::new(dims, Order::C, || rng.small()).view().to_owned();
        let mut targets = ndarray::Array1::from_shape_fn(rows, |_| rng.below(classes) as i64);
        if rows > 2 {
            targets[1] = -100;
        }
        let g = ndarray::Array1::from_shape_fn(rows, |_| rng.small()).into_dyn();
        let log = log_softmax_by_definition(&x);
        let (x_view, g_view, t_view) = (x.view(), g.view(), targets.view().into_dyn());
        let mut loss = ArrayD::zeros(ndarray::IxDyn(&[rows]));
        let stats = written(&[rows, 2], Order::C, 0.0f64, |stats| {
            loss = written(&[rows], Order::C, 9.0f64, |loss| {
                cross_entropy(read(&x_view), read(&t_view), -100, loss, stats).unwrap();
            });
        });
        let stats_view = stats.view();
        let grad = written(dims, Order::C, 9.0f64, |out| {
            let (x, t, s, g) = (read(&x_view), read(&t_view), read(&stats_view), read(&g_view));
            cross_entropy_backward(x, t, -100, s, g, out).unwrap();
        });
        for r in 0..rows {
            let t = targets[r];
            let want = if t < 0 { 0.0 } else { -log[[r, t as usize]] };
            assert!((loss[[r]] - want).abs() < 1e-12 * (1.0 + want), "{dims:?} row {r}");
            for c in 0..classes {
                let hit = if t == c as i64 { 1.0 } else { 0.0 };
                let want = if t < 0 { 0.0 } else { (log[[r, c]].exp() - hit) * g[[r]] };
                assert!((grad[[r, c]] - want).abs() < 1e-12, "{dims:?} at {r}, {c}");
            }
        }
    }
}

#[test]
fn a_target_that_is_no_class_is_an_error() {
    let x = ArrayD::<f32>::zeros(ndarray::IxDyn(&[2, 3]));
    let (x_view, targets) = (x.view(), ndarray::arr1(&[0i64, 3]).into_dyn());
    let t_view = targets.view();
    written(&[2, 2], Order::C, 0.0f32, |stats| {
        written(&[2], Order::C, 0.0f32, |loss| {
            let failed = cross_entropy(read(&x_view), read(&t_view), -100, loss, stats);
            assert!(failed.unwrap_err().to_string().contains("index 3 is out of range"));
        });
    });
}

#[test]
fn extreme_rows_stay_finite_and_nan_spreads_over_its_row_only() {
    let x = ndarray::arr2(&[[1e4, 0.0, -1e4], [f64::NAN, 0.0, 1.0], [f64::NEG_INFINITY, 0.0, 0.0]]);
    let x = x.into_dyn();
    let view = x.view();
    let got = written(&[3, 3], Order::C, 9.0f64, |out| softmax(read(&view), 1, out));
    assert_eq!(got.as_slice().unwrap()[..3], [1.0, 0.0, 0.0]);
    assert!((0..3).all(|c| got[[1, c]].is_nan()));
    assert_eq!(got.as_slice().unwrap()[6..], [0.0, 0.5, 0.5]);
    let got = written(&[3, 3], Order::C, 9.0f64, |out| log_softmax(read(&view), 1, out));
    assert_eq!(got.as_slice().unwrap()[..3], [0.0, -1e4, -2e4]);
    assert_eq!(got[[2, 0]], f64::NEG_INFINITY);
}

#[test]
fn the_thread_count_changes_nothing() {
    let mut rng = Rng(3);
    let x = StridedSet::new(&[3000, 70], Order::C, || rng.small()).view().to_owned();
    let view = x.view();
    let run = |threads| {
        set_num_threads(threads);
        written(&[3000, 70], Order::C, 0.0f64, |out| softmax(read(&view), 1, out))
    };
    let one = run(1);
    assert!(one == run(2) && one == run(5));
}
