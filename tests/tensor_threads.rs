//! Tensors on several Rust threads at once: shared leaves, shared graphs, modes, failures.
use std::sync::{Arc, Barrier};
use std::thread;

use ferrograd::threads::set_num_threads;
use ferrograd::{Error, Tensor, grad, no_grad};

const THREADS: usize = 4;

/// `work(i)` on threads that start together; the results in order.
fn at_once<R: Send>(work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let ready = Barrier::new(THREADS);
    thread::scope(|scope| {
        let start = |i| {
            let (ready, work) = (&ready, &work);
            scope.spawn(move || {
                ready.wait();
                work(i)
            })
        };
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn leaf(size: usize) -> Tensor {
    let values: Vec<f64> = (0..size).map(|i| i as f64 / size as f64 - 0.5).collect();
    Tensor::from(values).with_grad()
}

/// A loss of independent branches, worth several threads.
fn branches(x: &Tensor, count: usize) -> Tensor {
    let branch = |i: usize| {
        let scaled = x * &Tensor::from(1.0 + i as f64);
        scaled.tanh().unwrap().exp().unwrap().sum_all().unwrap()
    };
    (1..count).fold(branch(0), |sum, i| &sum + &branch(i))
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec().unwrap()
}

#[test]
fn accumulation_into_a_shared_leaf_is_exact() {
    let x = Tensor::from(vec![1.0; 500]).with_grad();
    at_once(|i| {
        for k in 0..100 {
            (&x * &Tensor::from((i + k) as f64)).sum_all().unwrap().backward().unwrap();
        }
    });
    let total: usize = (0..THREADS).map(|i| (0..100).map(|k| i + k).sum::<usize>()).sum();
    assert_eq!(values(&x.grad().unwrap()), vec![total as f64; 500]);
}

#[test]
fn parallel_passes_on_separate_graphs_have_the_serial_bits() {
    set_num_threads(THREADS);
    let gradient = |_| {
        let x = leaf(20_000);
        branches(&x, 8).backward().unwrap();
        values(&x.grad().unwrap())
    };
    let alone = gradient(0);
    for found in at_once(gradient) {
        assert!(found == alone);
    }
}

#[test]
fn one_graph_is_freed_by_one_of_several_passes() {
    for _ in 0..20 {
        let x = leaf(100);
        let loss = branches(&x, 4);
        let mut wins = 0;
        for result in at_once(|_| loss.backward()) {
            match result.map_err(|error| *error) {
                Ok(()) => wins += 1,
                Err(Error::GraphFreed { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(x.grad().is_some(), wins > 0);
    }
}

#[test]
fn recording_belongs_to_a_thread() {
    let x = Arc::new(leaf(10));
    let recorded = at_once(|i| {
        let square = || (&*x * &*x).requires_grad();
        (0..200).all(|_| if i % 2 == 0 { square() } else { !no_grad(square) })
    });
    assert_eq!(recorded, [true; THREADS]);
}

#[test]
fn graphs_are_built_here_run_there_and_dropped_elsewhere() {
    let (to_run, run) = std::sync::mpsc::channel::<Tensor>();
    let (to_drop, dropped) = std::sync::mpsc::channel::<Tensor>();
    let x = leaf(1000);
    thread::scope(|scope| {
        scope.spawn(move || {
            for loss in run {
                loss.backward().unwrap();
                to_drop.send(loss).unwrap();
            }
        });
        scope.spawn(move || dropped.into_iter().for_each(drop));
        for _ in 0..50 {
            to_run.send((&x * &Tensor::from(2.0)).sum_all().unwrap()).unwrap();
        }
        drop(to_run);
    });
    assert_eq!(values(&x.grad().unwrap()), vec![100.0; 1000]);
}

#[test]
fn gradients_with_respect_to_a_shared_leaf() {
    let x = leaf(2000);
    let slopes = at_once(|_| {
        let y = (&(&x * &x) * &x).sum_all().unwrap();
        values(&grad(&[y], std::slice::from_ref(&x)).unwrap()[0])
    });
    for slope in &slopes {
        assert_eq!(slope, &slopes[0]);
    }
}
