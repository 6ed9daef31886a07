//! What the engine itself costs: a graph of scalars, whose arithmetic takes next to nothing.
//!
//! Owns no thresholds and decides nothing: it prints nanoseconds per node, minimum and median of rounds. Run with
//! `cargo bench --bench engine`; one thread.
#![allow(clippy::print_stdout)]

#[macro_use]
#[path = "../tests/graph_support/mod.rs"]
mod graph_support;

use std::hint::black_box;
use std::time::Instant;

use graph_support::Random;

value!(Scalar, scalar);
use ferrograd::graph::Targets;
use scalar::{Scalar, leaf, mul, pass, plain};

const ROUNDS: usize = 41;

/// `y = y * w`, `nodes` times; with `by_both`, `w` wants a gradient, too.
fn chain(nodes: usize, by_both: bool) -> Scalar {
    let (y, _) = leaf(1.0);
    let w = if by_both { leaf(0.999).0 } else { plain(0.999) };
    (0..nodes).fold(y, |y, _| mul(&y, &w))
}

/// Products of two of the last 40 results.
fn lattice(nodes: usize) -> Scalar {
    let mut random = Random(1);
    let mut all: Vec<Scalar> = (0..40).map(|_| leaf(1.0).0).collect();
    for _ in 0..nodes {
        let mut pick = || &all[all.len() - 40 + random.below(40)];
        let y = mul(pick(), pick());
        all.push(y);
    }
    all.iter().skip(nodes).fold(plain(1.0), |sum, y| mul(&sum, y))
}

/// Prints the minimum and the median over rounds of `work`'s nanoseconds per node.
fn report(what: &str, nodes: usize, mut work: impl FnMut() -> u128) {
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| work() as f64 / nodes as f64).collect();
    times.sort_by(f64::total_cmp);
    println!("| {what}, {nodes} nodes | {:.0} | {:.0} |", times[0], times[ROUNDS / 2]);
}

fn timed<R>(work: impl FnOnce() -> R) -> (R, u128) {
    let begin = Instant::now();
    let result = black_box(work());
    (result, begin.elapsed().as_nanos())
}

fn backward(root: &Scalar, retain: bool) {
    pass(root, Targets::Leaves, retain, false).expect("nothing can fail");
}

fn main() {
    println!("| nanoseconds per node | minimum | median |\n|---|---|---|");
    for nodes in [1, 10, 1_000, 100_000] {
        let graphs: [(&str, &dyn Fn() -> Scalar); 3] = [
            ("chain, one gradient", &|| chain(nodes, false)),
            ("chain, two gradients", &|| chain(nodes, true)),
            ("lattice", &|| lattice(nodes)),
        ];
        for (what, make) in graphs {
            let root = make();
            report(&format!("backward: {what}"), nodes, || timed(|| backward(&root, true)).1);
            report(&format!("record: {what}"), nodes, || timed(make).1);
            report(&format!("record, backward, drop: {what}"), nodes, || {
                timed(|| backward(&make(), false)).1
            });
        }
    }
}
