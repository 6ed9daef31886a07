//! A scalar value type for tests of the graph: `value!(Name)` makes one with its own arena, so that the counts of live
//! nodes of tests in one process do not mix.
#![allow(dead_code, unused_macros, unreachable_pub)]

use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what rules do, per value type.
#[derive(Default)]
pub struct Counter(AtomicUsize);

impl Counter {
    pub const fn new() -> Counter {
        Counter(AtomicUsize::new(0))
    }
    pub fn step(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs a test on the stack of a main thread: an unoptimised frame is several times a release one, and an instrumented one needs
/// what `RUST_MIN_STACK` says.
pub fn on_a_main_stack(test: fn()) {
    let asked = std::env::var("RUST_MIN_STACK").ok().and_then(|bytes| bytes.parse().ok());
    let main = std::thread::Builder::new().stack_size(asked.unwrap_or(0).max(8 << 20));
    main.spawn(test).unwrap().join().unwrap();
}

/// A small deterministic generator (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Defines a scalar value type `$name`, its rules and helpers, in a module of the same spelling in lower case.
macro_rules! value {
    ($name:ident, $module:ident) => {
        #[allow(dead_code, unused_imports, unreachable_pub)]
        mod $module {
            use std::borrow::Cow;
            use std::sync::{Arc, Mutex};

            use ferrograd::error::{Error, Result};
            use ferrograd::graph::{
                Arena, Context, Edge, Flags, NestedStart, NoHost, NodeRef, Pass, Rule, RuleRef,
                Saved, Targets, Value, record, recording,
            };
            use smallvec::smallvec;

            /// A scalar with an optional edge.
            #[derive(Clone, Debug)]
            pub struct $name {
                pub x: f64,
                pub edge: Option<Edge<$name>>,
            }

            static ARENA: Arena<$name> = Arena::new();

            impl Value for $name {
                type Payload = f64;
                type Slice = std::convert::Infallible;
                fn arena() -> &'static Arena<$name> {
                    &ARENA
                }
                fn pack(&self) -> f64 {
                    self.x
                }
                fn unpack(x: f64, edge: Option<Edge<$name>>, _op: &str) -> Result<$name> {
                    Ok($name { x, edge })
                }
                fn edge(&self) -> Option<Edge<$name>> {
                    self.edge.clone()
                }
                fn bytes(_: &f64) -> usize {
                    8
                }
                fn accumulate(acc: $name, new: &$name) -> Result<$name> {
                    Ok(if recording() { add(&acc, new) } else { plain(acc.x + new.x) })
                }
                fn pad(slice: &Self::Slice) -> Result<$name> {
                    match *slice {}
                }
                fn accumulate_slice(
                    _acc: $name,
                    _last: Option<&Self::Slice>,
                    slice: &Self::Slice,
                ) -> Result<$name> {
                    match *slice {}
                }
            }

            /// A value outside the graph.
            pub fn plain(x: f64) -> $name {
                $name { x, edge: None }
            }

            pub fn live() -> usize {
                ARENA.live_nodes()
            }

            /// Where a leaf's gradient ends up.
            pub type Grad = Arc<Mutex<Option<$name>>>;

            struct Accumulate(std::sync::Weak<Mutex<Option<$name>>>);

            impl Rule<$name> for Accumulate {
                fn name(&self) -> Cow<'static, str> {
                    "accumulate".into()
                }
                fn backward(&self, _: &mut Context<'_, $name>) -> Result<()> {
                    unreachable!("accumulators commit")
                }
                fn commit(&self, grad: $name, _create_graph: bool) -> Result<()> {
                    let Some(place) = self.0.upgrade() else {
                        return Ok(());
                    };
                    let mut place = place.lock().unwrap();
                    *place = Some(match place.take() {
                        Some(sum) => $name::accumulate(sum, &grad)?,
                        None => grad,
                    });
                    Ok(())
                }
            }

            /// A leaf and its gradient.
            pub fn leaf(x: f64) -> ($name, Grad) {
                let grad: Grad = Arc::default();
                let rule = RuleRef::Boxed(Box::new(Accumulate(Arc::downgrade(&grad))));
                let node = record(rule, smallvec![], smallvec![], 1, 0.0, Flags::ACCUMULATOR)
                    .expect("nothing refuses");
                ($name { x, edge: Some(Edge::new(node, 0)) }, grad)
            }

            pub fn value_of(grad: &Grad) -> Option<f64> {
                grad.lock().unwrap().as_ref().map(|g| g.x)
            }

            /// Records a result if an input needs it.
            pub fn attach(
                x: f64,
                rule: &'static dyn Rule<$name>,
                inputs: &[&$name],
                saved: ferrograd::graph::SavedValues<$name>,
                cost: f32,
            ) -> $name {
                if !recording() || inputs.iter().all(|v| v.edge.is_none()) {
                    return plain(x);
                }
                let edges = inputs.iter().map(|v| v.edge.clone()).collect();
                let node = record(RuleRef::Static(rule), edges, saved, 1, cost, Flags::NONE)
                    .expect("nothing refuses");
                $name { x, edge: Some(Edge::new(node, 0)) }
            }

            struct Mul;
            impl Rule<$name> for Mul {
                fn name(&self) -> Cow<'static, str> {
                    "mul".into()
                }
                fn backward(&self, cx: &mut Context<'_, $name>) -> Result<()> {
                    let Some(g) = cx.take_grad(0) else {
                        return Ok(());
                    };
                    if cx.wants(0) {
                        let b = cx.saved(1)?;
                        cx.give(0, mul(&g, &b))?;
                    }
                    if cx.wants(1) {
                        let a = cx.saved(0)?;
                        cx.give(1, mul(&g, &a))?;
                    }
                    Ok(())
                }
            }

            pub fn mul(a: &$name, b: &$name) -> $name {
                if !recording() || (a.edge.is_none() && b.edge.is_none()) {
                    return plain(a.x * b.x);
                }
                attach(
                    a.x * b.x,
                    &Mul,
                    &[a, b],
                    smallvec![Saved::input(a, 0), Saved::input(b, 1)],
                    50.0,
                )
            }

            struct Add;
            impl Rule<$name> for Add {
                fn name(&self) -> Cow<'static, str> {
                    "add".into()
                }
                fn backward(&self, cx: &mut Context<'_, $name>) -> Result<()> {
                    if let Some(g) = cx.take_grad(0) {
                        cx.give(0, g.clone())?;
                        cx.give(1, g)?;
                    }
                    Ok(())
                }
            }

            pub fn add(a: &$name, b: &$name) -> $name {
                attach(a.x + b.x, &Add, &[a, b], smallvec![], 50.0)
            }

            struct Exp;
            impl Rule<$name> for Exp {
                fn name(&self) -> Cow<'static, str> {
                    "exp".into()
                }
                fn backward(&self, cx: &mut Context<'_, $name>) -> Result<()> {
                    let y = cx.saved(0)?;
                    if let Some(g) = cx.grad(0) {
                        let g = mul(g, &y);
                        cx.give(0, g)?;
                    }
                    Ok(())
                }
            }

            /// Saves its own output.
            pub fn exp(a: &$name) -> $name {
                let y = plain(a.x.exp());
                attach(y.x, &Exp, &[a], smallvec![Saved::output(&y, 0)], 50.0)
            }

            struct Split;
            impl Rule<$name> for Split {
                fn name(&self) -> Cow<'static, str> {
                    "split".into()
                }
                fn backward(&self, cx: &mut Context<'_, $name>) -> Result<()> {
                    let (c0, c1) = (plain(cx.scalar(0)?), plain(cx.scalar(1)?));
                    for (k, c) in [c0, c1].iter().enumerate() {
                        if let Some(g) = cx.grad(k) {
                            let g = mul(g, c);
                            cx.give(0, g)?;
                        }
                    }
                    Ok(())
                }
            }

            /// Two outputs: `2 a` and `3 a`.
            pub fn split(a: &$name) -> ($name, $name) {
                let edges = smallvec![a.edge.clone()];
                let saved = smallvec![Saved::Scalar(2.0), Saved::Scalar(3.0)];
                let node = record(RuleRef::Static(&Split), edges, saved, 2, 50.0, Flags::NONE)
                    .expect("nothing refuses");
                let out = |x, k| $name { x, edge: Some(Edge::new(node.clone(), k)) };
                (out(2.0 * a.x, 0), out(3.0 * a.x, 1))
            }

            pub fn pass(
                root: &$name,
                targets: Targets<$name>,
                retain: bool,
                create: bool,
            ) -> Result<Vec<Option<$name>>> {
                pass_threads(root, targets, retain, create, 1)
            }

            pub fn pass_threads(
                root: &$name,
                targets: Targets<$name>,
                retain_graph: bool,
                create_graph: bool,
                threads: usize,
            ) -> Result<Vec<Option<$name>>> {
                let roots = vec![(root.edge.clone().expect("root has an edge"), plain(1.0))];
                Pass {
                    roots,
                    targets,
                    since: NestedStart::default(),
                    retain_graph,
                    create_graph,
                    host: &NoHost,
                    threads,
                }
                .run()
            }

            /// Leaves get their gradients; the graph is freed.
            pub fn backward(root: &$name) -> Result<()> {
                pass(root, Targets::Leaves, false, false).map(drop)
            }

            /// The gradients with respect to `wrt`.
            pub fn grad(root: &$name, wrt: &[&$name], create: bool) -> Result<Vec<Option<$name>>> {
                let edges = wrt.iter().map(|v| v.edge.clone().expect("has an edge")).collect();
                pass(root, Targets::Capture(edges), create, create)
            }
        }
    };
}
