//! The parallel engine: the same bits as the serial one, on several threads, with errors, panics and foreign nodes.
#[macro_use]
mod graph_support;

use std::borrow::Cow;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use ferrograd::error::Result;
use ferrograd::graph::{
    Context, Edge, Flags, Host, NestedStart, NoHost, Pass, Rule, RuleRef, Saved, Targets, record,
};
use ferrograd::threads::set_num_threads;
use graph_support::Random;
use smallvec::smallvec;

/// A cost above the gate, so that a pass is worth several threads.
const HEAVY: f32 = 1e6;

fn enough_threads() {
    set_num_threads(8);
}

value!(Meet, meet);
use meet::Meet;

/// A barrier for two that gives up after a while.
struct Barrier {
    inside: Mutex<Vec<ThreadId>>,
    full: Condvar,
}

impl Barrier {
    fn wait(&self) -> bool {
        let mut inside = self.inside.lock().unwrap();
        inside.push(thread::current().id());
        self.full.notify_all();
        let (inside, timeout) = self
            .full
            .wait_timeout_while(inside, Duration::from_secs(20), |inside| inside.len() < 2)
            .unwrap();
        drop(inside);
        !timeout.timed_out()
    }
}

struct Meeting(Arc<Barrier>);

impl Rule<Meet> for Meeting {
    fn name(&self) -> Cow<'static, str> {
        "meeting".into()
    }
    fn backward(&self, cx: &mut Context<'_, Meet>) -> Result<()> {
        assert!(self.0.wait(), "the other branch never ran");
        if let Some(g) = cx.take_grad(0) {
            cx.give(0, g)?;
        }
        Ok(())
    }
}

#[test]
fn independent_branches_run_on_different_threads() {
    use meet::*;
    enough_threads();
    {
        let (x, gx) = leaf(1.0);
        let barrier = Arc::new(Barrier { inside: Mutex::default(), full: Condvar::new() });
        let branch = || {
            let rule = RuleRef::Boxed(Box::new(Meeting(Arc::clone(&barrier))));
            let node = record(rule, smallvec![x.edge.clone()], smallvec![], 1, HEAVY, Flags::NONE)
                .expect("nothing refuses");
            Meet { x: 1.0, edge: Some(Edge::new(node, 0)) }
        };
        let y = add(&branch(), &branch());
        pass_threads(&y, Targets::Leaves, false, false, 2).unwrap();
        assert_eq!(value_of(&gx), Some(2.0));
        let inside = barrier.inside.lock().unwrap();
        assert_ne!(inside[0], inside[1]);
    }
    assert_eq!(live(), 0);
}

value!(Bits, bits);
use bits::Bits;

/// Three inputs, two outputs; burns some time; gives in an unusual order.
struct Knot;

impl Rule<Bits> for Knot {
    fn name(&self) -> Cow<'static, str> {
        "knot".into()
    }
    fn backward(&self, cx: &mut Context<'_, Bits>) -> Result<()> {
        use bits::*;
        let spin = cx.scalar(3)? as u64;
        let mut random = Random(spin);
        for _ in 0..spin {
            std::hint::black_box(random.next());
        }
        for i in [2, 0, 1] {
            let mut sum = plain(0.1);
            let input = cx.saved(i)?;
            for k in 0..2 {
                if let Some(g) = cx.grad(k) {
                    sum = add(&sum, &mul(g, &input));
                }
            }
            cx.give(i, sum)?;
            if i == 0 {
                // Twice to the same input.
                let input = mul(&input, &plain(0.3));
                cx.give(0, input)?;
            }
        }
        Ok(())
    }
}

fn knot(inputs: [&Bits; 3], random: &mut Random, flags: Flags) -> [Bits; 2] {
    use bits::*;
    let edges = inputs.iter().map(|v| v.edge.clone()).collect();
    let spin = random.below(400) as f64;
    let mut saved: ferrograd::graph::SavedValues<Bits> =
        inputs.iter().enumerate().map(|(i, v)| Saved::input(*v, i as u32)).collect();
    saved.push(Saved::Scalar(spin));
    let node = record(RuleRef::Static(&Knot), edges, saved, 2, 2000.0 + 40.0 * spin as f32, flags)
        .expect("nothing refuses");
    let out = |k| Bits { x: 0.2 + random_x(k), edge: Some(Edge::new(node.clone(), k)) };
    [out(0), out(1)]
}

fn random_x(k: u32) -> f64 {
    1.0 / f64::from(k + 3)
}

/// A random graph over a few leaves, its root, and the leaves.
fn random_graph(seed: u64, nodes: usize) -> (Bits, Vec<Bits>) {
    use bits::*;
    let mut random = Random(seed);
    let leaves: Vec<Bits> = (0..5).map(|_| leaf(random.unit()).0).collect();
    let mut pool = leaves.clone();
    for _ in 0..nodes {
        let back = pool.len().min(if random.below(4) == 0 { usize::MAX } else { 12 });
        let mut pick = || pool[pool.len() - 1 - random.below(back)].clone();
        let (a, b, c) = (pick(), pick(), pick());
        match random.below(4) {
            0 => pool.push(mul(&a, &b)),
            1 => pool.push(add(&a, &b)),
            2 => pool.extend(knot([&a, &b, &c], &mut random, Flags::NONE)),
            _ => pool.extend(knot([&a, &b, &c], &mut random, Flags::HOST_OBJECTS)),
        }
    }
    let root = pool.iter().rev().take(10).fold(plain(1.0), |sum, v| add(&sum, v));
    (root, leaves)
}

fn bits_of(grads: &[Option<Bits>]) -> Vec<Option<u64>> {
    grads.iter().map(|g| g.as_ref().map(|g| g.x.to_bits())).collect()
}

/// The gradients, and those of the sum of the gradients: a pass over what the first pass recorded.
fn two_orders(root: &Bits, leaves: &[Bits], host: &dyn Host, threads: usize) -> Vec<Option<u64>> {
    use bits::*;
    let edges = || leaves.iter().map(|v| v.edge.clone().unwrap()).collect::<Vec<_>>();
    let run = |root: &Bits, create_graph, threads| {
        let roots = vec![(root.edge.clone().unwrap(), plain(1.0))];
        Pass {
            since: NestedStart::default(),
            roots,
            targets: Targets::Capture(edges()),
            retain_graph: true,
            create_graph,
            host,
            threads,
        }
        .run()
    };
    let mut result = bits_of(&run(root, false, threads).unwrap());
    let first = run(root, true, threads).unwrap();
    result.extend(bits_of(&first));
    let sum = first.iter().flatten().fold(plain(0.0), |sum, g| add(&sum, g));
    if sum.edge.is_some() {
        result.extend(bits_of(&run(&sum, false, 1).unwrap()));
        result.extend(bits_of(&run(&sum, false, threads).unwrap()));
    }
    result
}

#[test]
fn the_same_bits_at_any_number_of_threads() {
    enough_threads();
    for seed in 0..12 {
        let (root, leaves) = random_graph(seed, 150);
        let want = two_orders(&root, &leaves, &NoHost, 1);
        assert!(want.iter().any(Option::is_some));
        for threads in [1, 2, 4, 8] {
            for _ in 0..3 {
                assert_eq!(
                    two_orders(&root, &leaves, &NoHost, threads),
                    want,
                    "seed {seed}, {threads} threads"
                );
            }
        }
    }
    assert_eq!(bits::live(), 0);
}

value!(Order, order);
use order::Order;

#[test]
fn committed_gradients_have_the_same_bits_too() {
    use order::*;
    enough_threads();
    let run = |threads| {
        let (w, gw) = leaf(0.7);
        let mut random = Random(9);
        let branches: Vec<Order> = (0..64)
            .map(|_| {
                let x = plain(random.unit());
                (0..8).fold(mul(&x, &w), |y, _| attach_heavy(&mul(&exp(&y), &w)))
            })
            .collect();
        let root = branches.iter().fold(plain(0.0), |sum, b| add(&sum, b));
        pass_threads(&root, Targets::Leaves, false, false, threads).unwrap();
        value_of(&gw).unwrap().to_bits()
    };
    let want = run(1);
    for threads in [2, 4, 8] {
        assert_eq!(run(threads), want);
    }
    assert_eq!(live(), 0);
}

struct Pass1;

impl Rule<Order> for Pass1 {
    fn name(&self) -> Cow<'static, str> {
        "identity".into()
    }
    fn backward(&self, cx: &mut Context<'_, Order>) -> Result<()> {
        if let Some(g) = cx.take_grad(0) {
            cx.give(0, g)?;
        }
        Ok(())
    }
}

fn attach_heavy(v: &Order) -> Order {
    order::attach(v.x / (1.0 + v.x.abs()), &Pass1, &[v], smallvec![], 20_000.0)
}

value!(Trouble, trouble);
use trouble::Trouble;

struct Maybe(&'static str);

impl Rule<Trouble> for Maybe {
    fn name(&self) -> Cow<'static, str> {
        self.0.into()
    }
    fn backward(&self, cx: &mut Context<'_, Trouble>) -> Result<()> {
        match self.0 {
            "error" => {
                return Err(ferrograd::error::Error::Contract { what: "failed".into() }.into());
            }
            "panic" => panic!("a rule panicked"),
            _ => {}
        }
        thread::sleep(Duration::from_micros(50));
        if let Some(g) = cx.take_grad(0) {
            cx.give(0, g)?;
        }
        Ok(())
    }
}

#[test]
fn failures_change_no_leaf() {
    use trouble::*;
    enough_threads();
    for (round, trouble) in ["error", "panic"].iter().cycle().take(40).enumerate() {
        let (x, gx) = leaf(1.0);
        let mut sum = plain(0.0);
        for i in 0..16 {
            let rule =
                RuleRef::Boxed(Box::new(Maybe(if i == round % 16 { trouble } else { "fine" })));
            let node = record(rule, smallvec![x.edge.clone()], smallvec![], 1, HEAVY, Flags::NONE)
                .expect("nothing refuses");
            sum = add(&sum, &Trouble { x: 1.0, edge: Some(Edge::new(node, 0)) });
        }
        let run = || pass_threads(&sum, Targets::Leaves, false, false, 4);
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            Ok(result) => {
                assert_eq!(*trouble, "error");
                assert_eq!(result.err().unwrap().variant(), "Contract");
            }
            Err(panic) => {
                assert_eq!(*trouble, "panic");
                assert_eq!(*panic.downcast::<&str>().unwrap(), "a rule panicked");
            }
        }
        assert_eq!(value_of(&gx), None);
        assert!(ferrograd::graph::grad_enabled());
    }
    assert_eq!(live(), 0);
}
