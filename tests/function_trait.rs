//! `trait Function`: document 000's contract in Rust, without Python.
use std::slice::from_ref;

use ferrograd::autograd::{GradOptions, grad as grad_with};
use ferrograd::graph::NoHost;
use ferrograd::{DType, Error, Function, FunctionContext, Result, Tensor, grad, no_grad};

type Grads = Vec<Option<Tensor>>;

fn leaf(values: &[f64]) -> Tensor {
    Tensor::from(values.to_vec()).with_grad()
}

fn again(y: &Tensor, x: &Tensor) -> Result<Tensor> {
    let options = GradOptions { create_graph: true, ..GradOptions::default() };
    Ok(grad_with(from_ref(y), from_ref(x), &[], &options, &NoHost)?.remove(0).expect("reached"))
}

fn values(x: &Tensor) -> Vec<f64> {
    x.to_vec().expect("float64")
}

/// A function made of two plain functions.
#[derive(Clone)]
struct Plain {
    forward: fn(&mut FunctionContext, &[&Tensor]) -> Result<Vec<Tensor>>,
    backward: fn(&FunctionContext, &[Option<Tensor>]) -> Result<Grads>,
}

impl Function for Plain {
    fn forward(&self, cx: &mut FunctionContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        (self.forward)(cx, inputs)
    }
    fn backward(&self, cx: &FunctionContext, grads: &[Option<Tensor>]) -> Result<Grads> {
        (self.backward)(cx, grads)
    }
}

fn product() -> Plain {
    Plain {
        forward: |cx, inputs| {
            cx.save_for_backward(inputs.iter().copied());
            Ok(vec![inputs[0].multiply(inputs[1])?])
        },
        backward: |cx, grads| {
            let (a, b, g) = (cx.saved(0)?, cx.saved(1)?, grads[0].as_ref().expect("one output"));
            Ok(vec![Some(g.multiply(b)?), Some(g.multiply(a)?)])
        },
    }
}

fn identity() -> Plain {
    Plain {
        forward: |_, inputs| Ok(inputs.iter().map(|&x| x.clone()).collect()),
        backward: |_, grads| Ok(grads.to_vec()),
    }
}

/// Its backward returns `wrong`.
fn returning(wrong: fn(&FunctionContext, &[Option<Tensor>]) -> Result<Grads>) -> Plain {
    Plain { forward: |_, inputs| Ok(vec![inputs[0] * 1.0]), backward: wrong }
}

#[test]
fn first_and_second_order_through_saved_inputs() -> Result<()> {
    let x = Tensor::from(3.0).with_grad();
    let y = product().apply(&[&x, &x])?;
    let g = again(&y, &x)?;
    assert_eq!(g.item::<f64>()?, 6.0);
    assert_eq!(again(&g, &x)?.item::<f64>()?, 2.0);
    Ok(())
}

#[test]
fn a_saved_output_makes_no_cycle_and_differentiates() -> Result<()> {
    let exp = Plain {
        forward: |cx, inputs| {
            let y = inputs[0].exp()?;
            cx.save_for_backward([&y]);
            Ok(vec![y])
        },
        backward: |cx, grads| {
            Ok(vec![Some(grads[0].as_ref().expect("one output").multiply(cx.saved(0)?)?)])
        },
    };
    let x = Tensor::from(0.5).with_grad();
    let mut y = exp.apply(&[&x])?;
    let node = y.grad_fn().expect("recorded").id();
    for _ in 0..3 {
        y = again(&y, &x)?;
    }
    assert!((y.item::<f64>()? - 0.5f64.exp()).abs() < 1e-14);
    drop(y);
    assert!(!node.is_live());
    Ok(())
}

#[test]
fn a_second_derivative_through_an_intermediate_is_refused() -> Result<()> {
    let twice = Plain {
        forward: |cx, inputs| {
            let t = inputs[0] * 2.0;
            cx.save_for_backward([inputs[0], &t]);
            Ok(vec![t.multiply(inputs[0])?])
        },
        backward: |cx, grads| {
            let g = grads[0].as_ref().expect("one output");
            Ok(vec![Some(g.multiply(&cx.saved(1)?.add(&(cx.saved(0)? * 2.0))?)?)])
        },
    };
    let x = Tensor::from(3.0).with_grad();
    assert_eq!(values(&grad(&[twice.apply(&[&x])?], from_ref(&x))?[0]), [12.0]);
    let g = again(&twice.apply(&[&x])?, &x)?;
    let error = again(&g, &x).expect_err("refused");
    assert!(matches!(*error, Error::NotDifferentiable { .. }), "{error}");
    Ok(())
}

#[test]
fn identity_returns_aliases() -> Result<()> {
    let x = leaf(&[1.0, 2.0]);
    let y = identity().apply(&[&x])?;
    assert!(x.is_leaf() && !y.is_leaf());
    assert_eq!(y.storage().ptr(), x.storage().ptr());
    y.sum_all()?.backward()?;
    assert_eq!(values(&x.grad().expect("reached")), [1.0, 1.0]);
    Ok(())
}

#[test]
fn nothing_is_recorded_without_need() -> Result<()> {
    let (x, c) = (leaf(&[1.0]), Tensor::from(vec![1.0]));
    assert!(!product().apply(&[&c, &c])?.requires_grad());
    assert!(!no_grad(|| product().apply(&[&x, &x]))?.requires_grad());
    assert!(!no_grad(|| identity().apply(&[&x]))?.requires_grad());
    Ok(())
}

#[test]
fn several_outputs_one_backward_absent_ones_are_zeros() -> Result<()> {
    let split = Plain {
        forward: |_, inputs| Ok(vec![inputs[0] * 2.0, inputs[0] * 3.0]),
        backward: |_, grads| {
            let (a, b) = (grads[0].as_ref().expect("zeros"), grads[1].as_ref().expect("zeros"));
            Ok(vec![Some((a * 2.0).add(&(b * 3.0))?)])
        },
    };
    let x = leaf(&[1.0]);
    let outputs = split.apply_many(&[&x])?;
    assert_eq!(values(&grad(&outputs, from_ref(&x))?[0]), [5.0]);
    assert_eq!(values(&grad(&split.apply_many(&[&x])?[1..], from_ref(&x))?[0]), [3.0]);
    Ok(())
}

#[test]
fn absent_gradients_can_stay_absent() -> Result<()> {
    let split = Plain {
        forward: |cx, inputs| {
            cx.set_materialize_grads(false);
            Ok(vec![inputs[0] * 2.0, inputs[0] * 3.0])
        },
        backward: |_, grads| {
            assert!(grads[0].is_none());
            Ok(vec![grads[1].as_ref().map(|g| g * 3.0)])
        },
    };
    let x = leaf(&[1.0]);
    assert_eq!(values(&grad(&split.apply_many(&[&x])?[1..], from_ref(&x))?[0]), [3.0]);
    Ok(())
}

#[test]
fn non_differentiable_and_integer_outputs() -> Result<()> {
    let f = Plain {
        forward: |cx, inputs| {
            let constant = inputs[0] * 5.0;
            cx.mark_non_differentiable(&constant);
            Ok(vec![inputs[0] * 2.0, constant, Tensor::from(vec![1i64])])
        },
        backward: |_, grads| {
            assert_eq!(grads[2].as_ref().expect("zeros").dtype(), DType::I64);
            Ok(vec![grads[0].as_ref().map(|g| g * 2.0)])
        },
    };
    let outputs = f.apply_many(&[&leaf(&[1.0])])?;
    let needs: Vec<bool> = outputs.iter().map(Tensor::requires_grad).collect();
    assert_eq!(needs, [true, false, false]);
    outputs[0].backward()
}

#[test]
fn needs_input_grad_is_narrowed() -> Result<()> {
    let f = Plain {
        forward: |cx, inputs| {
            assert!(cx.needs_input_grad(0) && cx.needs_input_grad(1) && !cx.needs_input_grad(2));
            Ok(vec![inputs[0].add(inputs[1])?])
        },
        backward: |cx, grads| {
            assert!(!cx.needs_input_grad(0) && cx.needs_input_grad(1));
            Ok(vec![None, grads[0].clone(), None])
        },
    };
    let (a, b) = (leaf(&[1.0]), leaf(&[1.0]));
    let y = f.apply(&[&a, &b, &Tensor::from(vec![1.0])])?;
    assert_eq!(values(&grad(&[y], &[b])?[0]), [1.0]);
    Ok(())
}

#[test]
fn keys_and_objects() -> Result<()> {
    let f = Plain {
        forward: |cx, inputs| {
            cx.save_tensor("x", inputs[0]);
            cx.save_object(2.0f64);
            cx.save_object_as("name", String::from("f"));
            cx.save_optional(None);
            Ok(vec![inputs[0] * 2.0])
        },
        backward: |cx, grads| {
            assert_eq!(values(cx.saved_under("x")?), [7.0]);
            assert_eq!(cx.object_under::<String>("name").map(String::as_str), Some("f"));
            assert!(cx.saved_under("y").is_err() && cx.object::<u8>(0).is_none());
            let text = cx.saved(2).expect_err("two were saved").to_string();
            assert_eq!(text, "Tensor index 2 is out of range. Valid range is 0 to 1");
            let k = *cx.object::<f64>(0).expect("a number");
            Ok(vec![grads[0].as_ref().map(|g| g * k)])
        },
    };
    let x = leaf(&[7.0]);
    f.apply(&[&x])?.backward()?;
    assert_eq!(values(&x.grad().expect("reached")), [2.0]);
    Ok(())
}

#[test]
fn a_cleared_context_says_so() {
    let mut cx = FunctionContext::default();
    cx.save_for_backward([&Tensor::from(1.0)]);
    cx.clear();
    cx.clear();
    let text = cx.saved(0).expect_err("cleared").to_string();
    assert!(text.starts_with("Cannot retrieve tensor from disposed context"), "{text}");
}

#[test]
fn wrong_gradients_have_the_exact_messages() -> Result<()> {
    let x = leaf(&[1.0, 2.0]);
    let shape = returning(|_, _| Ok(vec![Some(Tensor::from(vec![1.0; 3]))]));
    let text = shape.apply(&[&x])?.sum_all()?.backward().expect_err("shape").to_string();
    assert!(text.starts_with("Gradient at index 0 has shape (3,) but expected (2,)"), "{text}");
    let count = returning(|_, _| Ok(vec![None, Some(Tensor::from(1.0))]));
    let text = count.apply(&[&x])?.sum_all()?.backward().expect_err("count").to_string();
    assert!(text.starts_with("Expected 1 gradients but got 2"), "{text}");
    assert!(x.grad().is_none());
    let extra = returning(|_, grads| Ok(vec![grads[0].clone(), None, None]));
    extra.apply(&[&x])?.sum_all()?.backward()
}

#[test]
fn no_outputs() -> Result<()> {
    let none = Plain { forward: |_, _| Ok(Vec::new()), backward: |_, _| Ok(Vec::new()) };
    let x = leaf(&[1.0]);
    assert!(none.apply_many(&[&x])?.is_empty());
    let text = none.apply(&[&x]).map(|_| ()).expect_err("none").to_string();
    assert!(text.starts_with("Function produced no outputs"), "{text}");
    Ok(())
}

#[test]
fn saved_values_are_freed_unless_retained() -> Result<()> {
    let (a, b) = (leaf(&[2.0]), leaf(&[3.0]));
    let y = product().apply(&[&a, &b])?;
    y.backward()?;
    let error = y.backward().expect_err("freed");
    assert!(matches!(*error, Error::GraphFreed { .. }), "{error}");
    Ok(())
}

#[test]
fn errors_of_the_user_pass_and_recording_is_restored() {
    let broken = Plain {
        forward: |_, _| Err(Box::new(Error::Contract { what: "mine".into() })),
        backward: |_, grads| Ok(grads.to_vec()),
    };
    let x = leaf(&[1.0]);
    assert_eq!(broken.apply(&[&x]).map(|_| ()).expect_err("mine").to_string(), "mine");
    assert!(x.multiply(&x).expect("same shape").requires_grad());
}

#[test]
fn one_instance_applied_twice_before_one_backward() -> Result<()> {
    let (f, a, b, c) = (product(), leaf(&[2.0]), leaf(&[3.0]), leaf(&[5.0]));
    let (first, second) = (f.apply(&[&a, &b])?, f.apply(&[&a, &c])?);
    first.add(&second)?.backward()?;
    let found = [&a, &b, &c].map(|x| values(&x.grad().expect("reached"))[0]);
    assert_eq!(found, [8.0, 2.0, 2.0]);
    Ok(())
}

#[test]
fn nested_functions_and_operations_mix() -> Result<()> {
    let cube = Plain {
        forward: |cx, inputs| {
            let x = inputs[0];
            let square = product().apply(&[x, x])?;
            assert!(!square.requires_grad(), "nothing is recorded inside forward");
            cx.save_for_backward([x]);
            Ok(vec![product().apply(&[&square, x])?])
        },
        backward: |cx, grads| {
            let (x, g) = (cx.saved(0)?, grads[0].as_ref().expect("one output"));
            let square = product().apply(&[x, x])?;
            Ok(vec![Some(product().apply(&[&(g * 3.0), &square])?)])
        },
    };
    let x = Tensor::from(2.0).with_grad();
    let mut y = product().apply(&[&cube.apply(&[&x])?.multiply(&x)?, &x])?;
    let mut found = Vec::new();
    for _ in 0..3 {
        y = again(&y, &x)?;
        found.push(y.item::<f64>()?);
    }
    assert_eq!(found, [80.0, 160.0, 240.0], "the derivatives of x⁵ at 2");
    Ok(())
}

#[test]
fn one_output_twice_gives_two_places_in_the_graph() -> Result<()> {
    let twins = Plain {
        forward: |_, inputs| {
            let y = inputs[0] * 2.0;
            Ok(vec![y.clone(), y])
        },
        backward: |_, grads| {
            let (a, b) = (grads[0].as_ref().expect("zeros"), grads[1].as_ref().expect("zeros"));
            Ok(vec![Some(a.add(b)? * 2.0)])
        },
    };
    let x = leaf(&[1.0]);
    let outputs = twins.apply_many(&[&x])?;
    (&outputs[0] * 10.0).add(&outputs[1])?.backward()?;
    assert_eq!(values(&x.grad().expect("reached")), [22.0]);
    Ok(())
}

#[test]
fn every_wrong_gradient_is_reported_at_once() -> Result<()> {
    let wrong = Plain {
        forward: |_, inputs| Ok(vec![inputs[0].add(inputs[1])?]),
        backward: |_, _| {
            let wide = Tensor::from(ndarray::array![[1.0, 1.0]]);
            Ok(vec![Some(Tensor::from(vec![1.0; 3])), Some(wide)])
        },
    };
    let (a, b) = (leaf(&[1.0, 2.0]), leaf(&[3.0, 4.0]));
    let error = wrong.apply(&[&a, &b])?.sum_all()?.backward().expect_err("both").to_string();
    assert!(error.contains("Gradient at index 0 has shape (3,) but expected (2,)"), "{error}");
    assert!(error.contains("Gradient at index 1 has shape (1, 2) but expected (2,)"), "{error}");
    assert!(error.contains("sum_to_size"), "{error}");
    assert!(a.grad().is_none() && b.grad().is_none());
    Ok(())
}

#[test]
fn the_same_key_replaces_and_each_call_has_its_own_context() -> Result<()> {
    let keeps = Plain {
        forward: |cx, inputs| {
            assert!(cx.saved_under("x").is_err(), "a fresh context");
            cx.save_tensor("x", &(inputs[0] * 100.0));
            cx.save_tensor("x", inputs[0]);
            Ok(vec![inputs[0].multiply(inputs[0])?])
        },
        backward: |cx, grads| {
            let g = grads[0].as_ref().expect("one output");
            Ok(vec![Some((g * 2.0).multiply(cx.saved_under("x")?)?)])
        },
    };
    let x = leaf(&[3.0]);
    keeps.apply(&[&keeps.apply(&[&x])?])?.backward()?;
    assert_eq!(values(&x.grad().expect("reached")), [108.0]);
    Ok(())
}

#[test]
fn saved_inputs_keep_their_edges_in_a_backward_that_is_not_recorded() -> Result<()> {
    let keeps = Plain {
        forward: |cx, inputs| product().forward(cx, inputs),
        backward: |cx, grads| {
            assert!(cx.saved(0)?.requires_grad() && !cx.saved(0)?.is_leaf());
            assert!(!cx.saved(1)?.requires_grad());
            product().backward(cx, grads)
        },
    };
    let x = leaf(&[1.0, 2.0]);
    keeps.apply(&[&(&x * 2.0), &Tensor::from(vec![3.0, 4.0])])?.sum_all()?.backward()?;
    assert_eq!(values(&x.grad().expect("reached")), [6.0, 8.0]);
    Ok(())
}
