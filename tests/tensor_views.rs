//! Elements that are read while somebody writes: what a view shows stays as it was, and a copy is of one moment.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ferrograd::ops::inplace::assign::set_index;
use ferrograd::ops::inplace::methods::{copy_, fill_};
use ferrograd::ops::inplace::optimizer_update::{Update, step};
use ferrograd::{DType, Error, IndexItem, Operand, Program, Result, Scalar, Tensor, no_grad};

const SIZE: usize = 20_000;
const ROUNDS: usize = 200;

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec().unwrap()
}

/// The element that all elements are; fails where they are of several moments.
fn one_value(values: &[f64]) -> f64 {
    assert!(values.iter().all(|v| *v == values[0]), "elements of several moments");
    values[0]
}

/// Runs `read` again and again on two threads as long as `write` runs.
fn while_writing(read: impl Fn() + Sync, write: impl FnOnce()) {
    /// Ends the readers also when `write` panics.
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let _ends = Ends(&done);
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    read();
                }
            });
        }
        write();
    });
}

/// A step of plain descent by a gradient of ones.
fn descend(x: &Tensor) -> Result<()> {
    let (params, grads) = ([x.clone()], [Tensor::ones(x.shape(), DType::F64)?]);
    step(&Update {
        rule: "plain",
        maximize: false,
        decay: 0.0,
        params: &params,
        grads: &grads,
        states: &[],
        counts: &[],
        options: &[0.1].map(ferrograd::ops::inplace::optimizer_update::RuleOption::Value),
    })
}

fn element() -> [IndexItem; 1] {
    [IndexItem::Int(1)]
}

type Write = fn(&Tensor) -> Result<()>;
const WRITES: &[(&str, Write)] = &[
    ("copy_", |x| copy_(x, &Tensor::from(9.0))),
    ("fill_", |x| fill_(x, &Operand::Scalar(Scalar::Float(9.0)))),
    ("setitem", |x| set_index(x, &element(), &Operand::Scalar(Scalar::Float(9.0)))),
    ("optimizer.step", descend),
];

#[test]
fn a_write_under_a_view_is_refused() {
    for (name, write) in WRITES {
        let x = Tensor::from(vec![1.0, 2.0, 3.0]);
        let other = x.clone();
        let view = x.view::<f64>().unwrap();
        let array = view.array();
        let error = write(&other).expect_err(name);
        assert!(matches!(*error, Error::InPlace { .. }), "{name}: {error}");
        assert!(error.to_string().contains("view"), "{name}: {error}");
        assert_eq!(array.as_slice().unwrap(), [1.0, 2.0, 3.0], "{name}");
        let version = x.version();
        drop(view);
        write(&other).unwrap();
        assert_eq!(x.version(), version + 1, "{name}");
        assert_ne!(values(&x), [1.0, 2.0, 3.0], "{name}");
    }
}

#[test]
fn an_operator_panics_under_a_view() {
    let x = Tensor::from(vec![1.0, 2.0]);
    let mut y = x.clone();
    let (first, second) = (x.view::<f64>().unwrap(), y.view::<f64>().unwrap());
    let mut add = || catch_unwind(AssertUnwindSafe(|| no_grad(|| y += 1.0)));
    assert!(add().is_err());
    drop(first);
    assert!(add().is_err());
    assert_eq!(second.array().as_slice().unwrap(), [1.0, 2.0]);
    drop(second);
    assert!(add().is_ok());
    assert_eq!(values(&x), [2.0, 3.0]);
}

#[test]
fn a_view_of_a_part_holds_the_memory() {
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let row = x.index(&[IndexItem::Int(0)]).unwrap();
    let view = row.view::<f64>().unwrap();
    assert!(fill_(&x, &Operand::Scalar(Scalar::Int(0))).is_err());
    assert_eq!(view.array().as_slice().unwrap(), [1.0, 2.0]);
}

#[test]
fn a_refused_write_leaves_saved_values_and_history() {
    let x = Tensor::from(vec![1.0, 2.0]).with_grad();
    let mut y = &x * 1.0;
    let loss = (&y * &y).sum_all().unwrap();
    let view = y.detach().view::<f64>().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| y += 1.0)).is_err());
    drop(view);
    loss.backward().unwrap();
    assert_eq!(values(&x.grad().unwrap()), [2.0, 4.0]);
}

#[test]
fn a_gradient_that_somebody_has_keeps_its_values() {
    let x = Tensor::from(vec![1.0, 2.0]).with_grad();
    let backward = || (&x * 3.0).sum_all().unwrap().backward().unwrap();
    backward();
    let held = x.grad().unwrap();
    backward();
    assert_eq!((values(&held), values(&x.grad().unwrap())), (vec![3.0; 2], vec![6.0; 2]));
    let given = Tensor::from(vec![10.0, 20.0]);
    x.set_grad(Some(given.clone())).unwrap();
    backward();
    assert_eq!((values(&given), values(&x.grad().unwrap())), (vec![10.0, 20.0], vec![13.0, 23.0]));
    let view = x.grad().unwrap().view::<f64>().unwrap();
    backward();
    assert_eq!(view.array().as_slice().unwrap(), [13.0, 23.0]);
    assert_eq!(values(&x.grad().unwrap()), [16.0, 26.0]);
}

#[test]
fn a_gradient_that_nobody_has_stays_in_its_memory() {
    let x = Tensor::from(vec![1.0; 1000]).with_grad();
    let backward = || (&x * 3.0).sum_all().unwrap().backward().unwrap();
    backward();
    let place = x.grad().unwrap().storage().ptr().addr();
    backward();
    assert_eq!(x.grad().unwrap().storage().ptr().addr(), place);
}

#[test]
fn gradients_are_read_while_passes_add_to_them() {
    let x = Tensor::from(vec![1.0; SIZE]).with_grad();
    let once = || (&x * 2.0).sum_all().unwrap().backward().unwrap();
    once();
    let read = || {
        let g = x.grad().unwrap();
        let view = g.view::<f64>().unwrap();
        let seen = one_value(view.array().as_slice().unwrap());
        assert_eq!(one_value(&values(&g)), seen);
        assert_eq!(one_value(&values(&(&g * 2.0))), 2.0 * seen);
        assert_eq!(one_value(&values(&x.grad().unwrap())) % 2.0, 0.0);
    };
    while_writing(read, || (1..ROUNDS).for_each(|_| once()));
    assert_eq!(one_value(&values(&x.grad().unwrap())), 2.0 * ROUNDS as f64);
}

#[test]
fn programs_add_to_gradients_that_others_read() {
    let w = Tensor::from(vec![1.0; SIZE]).with_grad();
    let f = |xs: &[Tensor]| {
        let loss = (&xs[0] * &w).sum_all()?;
        loss.backward()?;
        Ok::<_, Box<Error>>(vec![loss.detach()])
    };
    let x = Tensor::from(vec![2.0; SIZE]);
    f(from_ref(&x)).unwrap();
    let (program, _) = Program::trace(from_ref(&x), false, f).unwrap();
    let held = w.grad().unwrap();
    program.run(from_ref(&x)).unwrap();
    assert_eq!((one_value(&values(&held)), one_value(&values(&w.grad().unwrap()))), (4.0, 6.0));
    drop(held);
    let read = || {
        one_value(&values(&w.grad().unwrap()));
    };
    while_writing(read, || {
        (0..ROUNDS).for_each(|_| drop(program.run(from_ref(&x)).unwrap()));
    });
    assert_eq!(one_value(&values(&w.grad().unwrap())), 6.0 + 2.0 * ROUNDS as f64);
}

#[test]
fn copies_are_of_one_moment() {
    let x = Tensor::from(vec![0.0; SIZE]);
    let mut y = x.clone();
    let read = || {
        one_value(&values(&x));
    };
    while_writing(read, || (0..ROUNDS).for_each(|_| no_grad(|| y += 1.0)));
    assert_eq!(one_value(&values(&x)), ROUNDS as f64);
}

#[test]
fn views_are_of_one_moment() {
    let x = Tensor::from(vec![0.0; SIZE]);
    let read = || {
        let view = x.view::<f64>().unwrap();
        let seen = one_value(view.array().as_slice().unwrap());
        thread::yield_now();
        assert_eq!(one_value(view.array().as_slice().unwrap()), seen);
        drop(view);
        thread::yield_now();
    };
    while_writing(read, || {
        for k in 0..ROUNDS {
            let _ = fill_(&x, &Operand::Scalar(Scalar::Int(k as i64)));
            thread::yield_now();
        }
    });
}

#[test]
fn results_of_a_bound_program_are_read_while_it_runs() {
    let x = Tensor::from(vec![0.0; SIZE]);
    let f = |xs: &[Tensor]| Ok::<_, Box<Error>>(vec![&xs[0] + 1.0]);
    let (program, _) = Program::trace(from_ref(&x), false, f).unwrap();
    let run = Arc::new(program).bind(from_ref(&x)).unwrap();
    let view = run.results()[0].view::<f64>().unwrap();
    assert!(matches!(*run.run().unwrap_err(), Error::InPlace { .. }));
    drop(view);
    let mut own = x.clone();
    let read = || {
        one_value(&values(&run.results()[0]));
    };
    while_writing(read, || {
        for _ in 0..ROUNDS {
            no_grad(|| own += 1.0);
            run.run().unwrap();
        }
    });
    assert_eq!(one_value(&values(&run.results()[0])), ROUNDS as f64 + 1.0);
}
