//! Hosts and nesting: foreign nodes on the caller, interrupts, passes within passes and from several threads.
#[macro_use]
mod graph_support;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use ferrograd::error::Result;
use ferrograd::graph::{
    Context, Edge, Flags, Host, NestedStart, Pass, Rule, RuleRef, Saved, Targets, record,
};
use ferrograd::threads::{parallel_for, set_num_threads};
use graph_support::{Random, on_a_main_stack};
use smallvec::smallvec;

/// A cost above the gate, so that a pass is worth several threads.
const HEAVY: f32 = 1e6;

fn enough_threads() {
    set_num_threads(8);
}

value!(Task, task);
use task::Task;

/// A host that checks that it is attached on one thread only, and that may interrupt.
struct Watching {
    home: ThreadId,
    attached: AtomicBool,
    batches: AtomicUsize,
    stop_after: Option<Instant>,
}

impl Host for Watching {
    fn attached(&self, batch: &mut dyn FnMut()) {
        assert_eq!(thread::current().id(), self.home);
        assert!(!self.attached.swap(true, Ordering::Relaxed));
        self.batches.fetch_add(1, Ordering::Relaxed);
        batch();
        self.attached.store(false, Ordering::Relaxed);
    }
    fn detached(&self, work: &mut (dyn FnMut() + Send)) {
        assert_eq!(thread::current().id(), self.home);
        work();
    }
    fn interrupted(&self) -> bool {
        assert_eq!(thread::current().id(), self.home);
        self.stop_after.is_some_and(|at| Instant::now() > at)
    }
}

fn watching(stop_after: Option<Duration>) -> Watching {
    Watching {
        home: thread::current().id(),
        attached: AtomicBool::new(false),
        batches: AtomicUsize::new(0),
        stop_after: stop_after.map(|after| Instant::now() + after),
    }
}

/// Sleeps; if foreign, insists on being on the caller.
struct Sleep {
    micros: u64,
    home: Option<ThreadId>,
}

impl Rule<Task> for Sleep {
    fn name(&self) -> Cow<'static, str> {
        "sleep".into()
    }
    fn backward(&self, cx: &mut Context<'_, Task>) -> Result<()> {
        if let Some(home) = self.home {
            assert_eq!(thread::current().id(), home);
        }
        thread::sleep(Duration::from_micros(self.micros));
        if let Some(g) = cx.take_grad(0) {
            cx.give(0, g)?;
        }
        Ok(())
    }
}

fn sleeper(x: &Task, micros: u64, foreign: bool) -> Task {
    let home = foreign.then(|| thread::current().id());
    let flags = if foreign { Flags::HOST_OBJECTS } else { Flags::NONE };
    let rule = RuleRef::Boxed(Box::new(Sleep { micros, home }));
    let node = record(rule, smallvec![x.edge.clone()], smallvec![], 1, HEAVY, flags)
        .expect("nothing refuses");
    Task { x: x.x, edge: Some(Edge::new(node, 0)) }
}

#[test]
fn foreign_nodes_run_on_the_caller() {
    use task::*;
    enough_threads();
    for threads in [1, 2, 4] {
        let (x, gx) = leaf(1.0);
        let branch = |i: u64| {
            let native = sleeper(&sleeper(&x, 200, false), 200, false);
            sleeper(&sleeper(&native, 20, i.is_multiple_of(2)), 100, false)
        };
        let root = (0..24).fold(plain(0.0), |sum, i| add(&sum, &branch(i)));
        let host = watching(None);
        let roots = vec![(root.edge.clone().unwrap(), plain(1.0))];
        let retain_graph = false;
        let pass = Pass {
            since: NestedStart::default(),
            roots,
            targets: Targets::Leaves,
            retain_graph,
            create_graph: false,
            host: &host,
            threads,
        };
        pass.run().unwrap();
        assert_eq!(value_of(&gx), Some(24.0));
        assert!((1..=12).contains(&host.batches.load(Ordering::Relaxed)));
    }
    assert_eq!(live(), 0);
}

value!(Stop, stop);

#[test]
fn an_interrupt_ends_the_pass_soon() {
    use stop::*;
    struct Slow;
    impl Rule<Stop> for Slow {
        fn name(&self) -> Cow<'static, str> {
            "slow".into()
        }
        fn backward(&self, cx: &mut Context<'_, Stop>) -> Result<()> {
            thread::sleep(Duration::from_millis(5));
            if let Some(g) = cx.take_grad(0) {
                cx.give(0, g)?;
            }
            Ok(())
        }
    }
    enough_threads();
    for threads in [1, 2] {
        let (x, gx) = leaf(1.0);
        let chain = || (0..500).fold(x.clone(), |y, _| attach(y.x, &Slow, &[&y], smallvec![], 5e6));
        let root = add(&chain(), &chain());
        let host = watching(Some(Duration::from_millis(100)));
        let roots = vec![(root.edge.clone().unwrap(), plain(1.0))];
        let begin = Instant::now();
        let retain_graph = false;
        let pass = Pass {
            since: NestedStart::default(),
            roots,
            targets: Targets::Leaves,
            retain_graph,
            create_graph: false,
            host: &host,
            threads,
        };
        assert_eq!(pass.run().unwrap_err().variant(), "Interrupted");
        assert!(begin.elapsed() < Duration::from_millis(400), "{:?}", begin.elapsed());
        assert_eq!(value_of(&gx), None);
    }
    assert_eq!(live(), 0);
}

value!(Inner, inner);
use inner::Inner;

/// Runs a parallel pass of its own, to the depth of the saved number.
struct Deeper;

impl Rule<Inner> for Deeper {
    fn name(&self) -> Cow<'static, str> {
        "deeper".into()
    }
    fn backward(&self, cx: &mut Context<'_, Inner>) -> Result<()> {
        use inner::*;
        let depth = cx.scalar(0)?;
        let Some(mut g) = cx.take_grad(0) else {
            return Ok(());
        };
        if depth > 0.0 {
            let _on = ferrograd::graph::ModeGuard::grad(true);
            let (x, gx) = leaf(1.0);
            let root = add(&deeper(&x, depth - 1.0), &deeper(&x, 0.0));
            pass_threads(&root, Targets::Leaves, false, false, 4)?;
            g.x *= value_of(&gx).unwrap();
        }
        cx.give(0, g)?;
        Ok(())
    }
}

fn deeper(x: &Inner, depth: f64) -> Inner {
    inner::attach(x.x, &Deeper, &[x], smallvec![Saved::Scalar(depth)], HEAVY)
}

#[test]
fn parallel_passes_within_parallel_passes() {
    on_a_main_stack(nested_passes);
}

fn nested_passes() {
    use inner::*;
    enough_threads();
    {
        let (x, gx) = leaf(1.0);
        let root = add(&deeper(&x, 300.0), &deeper(&x, 3.0));
        pass_threads(&root, Targets::Leaves, false, false, 4).unwrap();
        assert_eq!(value_of(&gx), Some(301.0 + 4.0));
    }
    assert_eq!(live(), 0);
}

value!(Crowd, crowd);

#[test]
fn parallel_passes_from_several_threads() {
    use crowd::*;
    enough_threads();
    struct Burn;
    impl Rule<Crowd> for Burn {
        fn name(&self) -> Cow<'static, str> {
            "burn".into()
        }
        fn backward(&self, cx: &mut Context<'_, Crowd>) -> Result<()> {
            // Kernels split their work inside a lane.
            let sum = AtomicUsize::new(0);
            parallel_for(7, &|i| {
                let mut random = Random(i as u64);
                for _ in 0..300 {
                    std::hint::black_box(random.next());
                }
                sum.fetch_add(i, Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), 21);
            if let Some(g) = cx.take_grad(0) {
                cx.give(0, g)?;
            }
            Ok(())
        }
    }
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..15 {
                    let (x, gx) = leaf(1.0);
                    let branch = || {
                        (0..5).fold(x.clone(), |y, _| {
                            attach(y.x, &Burn, &[&y], smallvec![], 20_000.0)
                        })
                    };
                    let root = (0..20).fold(plain(0.0), |sum, _| add(&sum, &branch()));
                    pass_threads(&root, Targets::Leaves, false, false, 4).unwrap();
                    assert_eq!(value_of(&gx), Some(20.0));
                }
            });
        }
    });
    assert_eq!(live(), 0);
}
