//! The Rust face: tensors, operators, gradients to third order, without Python.
use std::slice::from_ref;

use ferrograd::autograd::{GradOptions, grad as grad_with};
use ferrograd::graph::NoHost;
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

#[test]
fn operators_take_tensors_references_and_numbers_in_every_mix() {
    let x = Tensor::from([1.0, -2.0, 4.0]).with_grad();
    let y = Tensor::from([[2.0, 2.0, 8.0]]);
    let values = |t: Tensor| t.to_vec::<f64>().unwrap();
    assert_eq!(values(&x * &y * &x), [2.0, 8.0, 128.0]);
    assert_eq!(values(x.clone() * &y), values(&x * y.clone()));
    assert_eq!(values(2.0 * &x + 1), values(1 + x.clone() * 2));
    assert_eq!(values(&x * 2.0f32 - 1i64), [1.0, -5.0, 7.0]);
    assert_eq!(values(8 / x.clone()), [8.0, -4.0, 2.0]);
    assert_eq!(values(-x.clone()), values(-&x));
    assert_eq!(values(x.clone() % 3), [1.0, 1.0, 1.0]);
    // A literal needs no type where a method follows.
    assert_eq!(values((2.0 * &x).sin().unwrap()), values((&x * 2.0).sin().unwrap()));
    (3.0 * &x * &x).sum_all().unwrap().backward().unwrap();
    assert_eq!(values(x.grad().unwrap()), [6.0, -12.0, 24.0]);
}

#[test]
fn a_number_never_widens_a_tensor() {
    let x = Tensor::from([1.0f32]);
    assert_eq!((&x * 2.0).dtype(), DType::F32);
    assert_eq!((2 * &x).dtype(), DType::F32);
    assert_eq!((Tensor::from([1i32]) * 2).dtype(), DType::I32);
}

#[test]
fn assigning_operators_change_in_place_and_are_recorded() {
    let x = Tensor::from([1.0, 2.0]).with_grad();
    let mut y = &x * 3.0;
    let same = y.clone();
    y += &x;
    y *= 2;
    y -= Tensor::from(1.0);
    y /= 4.0;
    y %= 100;
    assert_eq!(y.to_vec::<f64>().unwrap(), [1.75, 3.75]);
    assert_eq!(same.to_vec::<f64>().unwrap(), [1.75, 3.75]);
    y.sum_all().unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().to_vec::<f64>().unwrap(), [2.0, 2.0]);
    let mut leaf = x.clone();
    no_grad(|| leaf -= 0.5 * x.grad().unwrap());
    assert_eq!(x.to_vec::<f64>().unwrap(), [0.0, 1.0]);
}

#[test]
#[should_panic(expected = "add failed: add: shapes (2,) and (3,) do not broadcast together")]
fn an_operator_panics_where_the_method_returns_an_error() {
    let _ = Tensor::from([1.0, 2.0]) + Tensor::from([1.0, 2.0, 3.0]);
}

#[test]
fn tensors_from_arrays_and_slices() {
    let data = [1.0, 2.0, 3.0];
    assert_eq!(Tensor::from(&data[1..]).to_vec::<f64>().unwrap(), [2.0, 3.0]);
    let matrix = Tensor::from([[1i64, 2, 3], [4, 5, 6]]);
    assert_eq!((matrix.shape(), matrix.dtype()), (&[2, 3][..], DType::I64));
    assert_eq!(matrix.to_vec::<i64>().unwrap(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn an_element_of_another_type_is_named_after_the_call() {
    let error = Tensor::from(1.0f64).item::<f32>().unwrap_err().to_string();
    assert!(error.starts_with("item: "), "{error}");
    assert!(error.contains("float64"), "{error}");
}
