//! Fits the line `y = 2 x - 1` to noisy points: the Rust face, without Python.
//!
//! `cargo run --example quickstart`
// An example talks to the reader of a terminal.
#![allow(clippy::print_stdout)]

use ferrograd::autograd::{GradOptions, grad as grad_with};
use ferrograd::graph::NoHost;
use ferrograd::{Axes, Result, Tensor, grad, no_grad};
use ndarray::Array1;

fn main() -> Result<()> {
    let x = Tensor::from(Array1::linspace(-1.0, 1.0, 50));
    let noise = Tensor::from(Array1::from_shape_fn(50, |i| 0.05 * (7.0 * i as f64).sin()));
    let y = &x * 2.0 - 1.0 + noise;

    let mut slope = Tensor::from(0.0).with_grad();
    let mut offset = Tensor::from(0.0).with_grad();
    for step in 0..100 {
        let error = &x * &slope + &offset - &y;
        let loss = (&error * &error).mean(Axes::All, false, None)?;
        loss.backward()?;
        (slope, offset) = no_grad(|| descend(&slope, &offset))?;
        if step % 20 == 0 {
            println!("step {step:3}: loss {:.6}", loss.item::<f64>()?);
        }
    }
    println!("y = {:.3} x + {:.3}", slope.item::<f64>()?, offset.item::<f64>()?);
    assert!((slope.item::<f64>()? - 2.0).abs() < 0.02);
    assert!((offset.item::<f64>()? + 1.0).abs() < 0.02);

    // Gradients are tensors: differentiate them again. d²(x³)/dx² = 6 x.
    let t = Tensor::from(2.0).with_grad();
    let cube = &t * &t * &t;
    let recorded = GradOptions { create_graph: true, ..GradOptions::default() };
    let first = grad_with(&[cube], std::slice::from_ref(&t), &[], &recorded, &NoHost)?.remove(0);
    let first = first.expect("cube depends on t");
    let second = grad(std::slice::from_ref(&first), &[t])?.remove(0);
    println!("d(x^3)/dx = {first}, d2(x^3)/dx2 = {second} at x = 2");
    assert_eq!((first.item::<f64>()?, second.item::<f64>()?), (12.0, 12.0));
    Ok(())
}

/// One step of gradient descent; new leaves, so that the next graph starts from them.
fn descend(slope: &Tensor, offset: &Tensor) -> Result<(Tensor, Tensor)> {
    let step = |p: &Tensor| -> Result<Tensor> {
        let gradient = p.grad().expect("backward has run");
        Ok((p - 0.5 * gradient).with_grad())
    };
    Ok((step(slope)?, step(offset)?))
}
