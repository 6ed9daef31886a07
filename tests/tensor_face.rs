//! The Rust face: tensors, operators, gradients to third order, without Python.
use std::slice::from_ref;

use ferrograd::graph::NoHost;
use ferrograd::ops::autograd::{GradOptions, grad as grad_with};
use ferrograd::{Axes, DType, Error, Tensor, grad, no_grad};

fn again(y: &Tensor, x: &Tensor) -> Tensor {
    let options = GradOptions { create_graph: true, ..GradOptions::default() };
    let found = grad_with(from_ref(y), from_ref(x), &[], &options, &NoHost);
    found.expect("a gradient").remove(0).expect("reached")
}

#[test]
fn third_order_of_tanh_follows_from_one_text() {
    let x = Tensor::from(0.3f64).with_grad();
    let y = x.tanh().unwrap();
    let (d1, t) = (again(&y, &x), 0.3f64.tanh());
    let d2 = again(&d1, &x);
    let d3 = again(&d2, &x);
    let s = 1.0 - t * t;
    assert!((d1.item::<f64>().unwrap() - s).abs() < 1e-14);
    assert!((d2.item::<f64>().unwrap() + 2.0 * t * s).abs() < 1e-14);
    assert!((d3.item::<f64>().unwrap() - s * (6.0 * t * t - 2.0)).abs() < 1e-13);
}

#[test]
fn linear_regression_gradients() {
    let (w, b) = (Tensor::from(1.0f64).with_grad(), Tensor::from(3.0f64).with_grad());
    let x = Tensor::from(2.0f64);
    let error = &(&(&w * &x) + &b) - 8.0;
    (&error * &error).backward().unwrap();
    assert_eq!(w.grad().unwrap().item::<f64>().unwrap(), -12.0);
    assert_eq!(b.grad().unwrap().item::<f64>().unwrap(), -6.0);
}

#[test]
fn broadcasting_sums_back() {
    let a = Tensor::from_vec(vec![1.0; 6], &[2, 3]).unwrap().with_grad();
    let b = Tensor::from(vec![1.0, 2.0, 3.0]).with_grad();
    (&a * &b).sum_all().unwrap().backward().unwrap();
    assert_eq!(b.grad().unwrap().to_vec::<f64>().unwrap(), [2.0; 3]);
    assert_eq!(a.grad().unwrap().to_vec::<f64>().unwrap(), [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
}

#[test]
fn matmul_gradients_use_strides() {
    let a = Tensor::from_vec((0..6).map(f64::from).collect(), &[2, 3]).unwrap().with_grad();
    let b = Tensor::from_vec((0..12).map(f64::from).collect(), &[3, 4]).unwrap().with_grad();
    let y = a.matmul(&b).unwrap().sum(Axes::All, false, None).unwrap();
    let found = grad(&[y], &[a, b]).unwrap();
    assert_eq!(found[0].to_vec::<f64>().unwrap(), [6.0, 22.0, 38.0, 6.0, 22.0, 38.0]);
    assert_eq!(found[1].to_vec::<f64>().unwrap()[..4], [3.0; 4]);
}

#[test]
fn errors_name_both_values() {
    let a = Tensor::from(vec![1.0; 3]);
    let b = Tensor::from(vec![1.0; 4]);
    let error = a.add(&b).unwrap_err();
    assert!(matches!(*error, Error::Broadcast { .. }));
    assert_eq!(
        error.to_string(),
        "add: shapes (3,) and (4,) do not broadcast together; reshape or expand one of them"
    );
    let ints = Tensor::from(vec![1i64]);
    assert!(ints.set_requires_grad(true).is_err());
    assert_eq!(ints.sqrt().unwrap().dtype(), DType::F64);
}

#[test]
fn no_grad_records_nothing() {
    let x = Tensor::from(2.0f64).with_grad();
    let y = no_grad(|| &x * &x);
    assert!(!y.requires_grad() && y.is_leaf());
    assert!(y.backward().is_err());
}
