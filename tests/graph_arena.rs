//! The arena: counts, generations, deep graphs, threads.
#[macro_use]
mod graph_support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ferrograd::graph::{Flags, RuleRef, Saved, Value, record};
use smallvec::smallvec;

value!(Deep, deep);

#[test]
fn a_million_deep_on_a_small_stack() {
    use deep::*;
    const DEPTH: usize = 1_000_000;
    let small = thread::Builder::new().stack_size(512 * 1024);
    let run = || {
        let (x, gx) = leaf(1.0);
        let (w, gw) = leaf(1.0);
        let build = || (0..DEPTH).fold(x.clone(), |y, _| mul(&y, &w));
        let y = build();
        assert!(live() >= DEPTH);
        backward(&y).unwrap();
        assert_eq!(value_of(&gx), Some(1.0));
        assert_eq!(value_of(&gw), Some(DEPTH as f64));
        drop(y);
        assert_eq!(live(), 2);
        // Dropped without a backward: the links run through saved values too.
        drop(build());
        assert_eq!(live(), 2);
    };
    small.spawn(run).unwrap().join().unwrap();
    assert_eq!(live(), 0);
}

value!(Saves, saves);

#[test]
fn deep_links_through_saved_edges_only() {
    use saves::*;
    use std::borrow::Cow;
    struct Nothing;
    impl ferrograd::graph::Rule<Saves> for Nothing {
        fn name(&self) -> Cow<'static, str> {
            "nothing".into()
        }
        fn backward(
            &self,
            _: &mut ferrograd::graph::Context<'_, Saves>,
        ) -> ferrograd::error::Result<()> {
            Ok(())
        }
    }
    let run = || {
        let mut y = leaf(1.0).0;
        for _ in 0..200_000 {
            let saved = smallvec![Saved::value(&y)];
            let node = record(RuleRef::Static(&Nothing), smallvec![], saved, 1, 0.0, Flags::NONE)
                .expect("nothing refuses");
            y.edge = Some(ferrograd::graph::Edge::new(node, 0));
        }
        drop(y);
    };
    thread::Builder::new().stack_size(256 * 1024).spawn(run).unwrap().join().unwrap();
    assert_eq!(live(), 0);
}

value!(Keys, keys);

#[test]
fn a_key_outlives_its_node() {
    use keys::*;
    let (x, _) = leaf(1.0);
    let node = x.edge.as_ref().unwrap().node().clone();
    let key = node.id();
    assert_eq!(node.count(), 2);
    assert_eq!(key.upgrade().unwrap(), node);
    assert_eq!(node.count(), 2);
    drop((x, node));
    assert!(key.upgrade().is_none() && !key.is_live());
    // The slot is used again, under another generation.
    let (z, _) = leaf(2.0);
    let other = z.edge.as_ref().unwrap().node();
    assert_ne!(other.id(), key);
    assert!(key.upgrade().is_none());
    assert_eq!(other.count(), 1);
    drop(z);
    assert_eq!(live(), 0);
}

value!(Reuse, reuse);

#[test]
fn slots_are_reused() {
    use reuse::*;
    for _ in 0..100_000 {
        let (x, _) = leaf(1.0);
        drop(mul(&mul(&x, &x), &x));
    }
    assert_eq!(live(), 0);
    assert!(Reuse::arena().capacity() <= 8, "{}", Reuse::arena().capacity());
}

value!(Remote, remote);

#[test]
fn nodes_may_be_dropped_by_other_threads() {
    use remote::*;
    for _ in 0..50 {
        let graphs: Vec<Remote> = (0..200)
            .map(|_| {
                let (x, _) = leaf(1.0);
                (0..10).fold(x, |y, _| mul(&y, &y))
            })
            .collect();
        let mut graphs = graphs.into_iter();
        thread::scope(|scope| {
            for _ in 0..4 {
                let part: Vec<Remote> = graphs.by_ref().take(50).collect();
                scope.spawn(move || drop(part));
            }
        });
    }
    assert_eq!(live(), 0);
    // What the others freed comes back to the owner.
    assert!(Remote::arena().capacity() < 4 * 200 * 11, "{}", Remote::arena().capacity());
}

value!(Exits, exits);

#[test]
fn shards_pass_from_thread_to_thread() {
    use exits::*;
    let mut kept = Vec::new();
    for _ in 0..100 {
        kept.push(thread::spawn(|| mul(&leaf(2.0).0, &leaf(3.0).0)).join().unwrap());
    }
    assert_eq!(live(), 300);
    // One shard (of 64 slots at first), whatever the number of threads that lived one after another.
    assert!(Exits::arena().capacity() <= 300, "{}", Exits::arena().capacity());
    drop(kept);
    assert_eq!(live(), 0);
}

value!(Late, late);

#[test]
fn a_thread_local_may_hold_nodes_until_the_thread_ends() {
    use late::*;
    use std::cell::RefCell;
    struct Holder(RefCell<Option<Late>>);
    impl Drop for Holder {
        fn drop(&mut self) {
            // Records and drops while the thread's locals are being destroyed.
            let y = self.0.borrow_mut().take().unwrap();
            drop(mul(&y, &y));
        }
    }
    thread_local! {
        static HOLD: Holder = const { Holder(RefCell::new(None)) };
    }
    for _ in 0..20 {
        thread::spawn(|| {
            HOLD.with(|hold| *hold.0.borrow_mut() = Some(plain(0.0)));
            HOLD.with(|hold| *hold.0.borrow_mut() = Some(leaf(1.0).0));
        })
        .join()
        .unwrap();
    }
    assert_eq!(live(), 0);
}

value!(Reenter, reenter);

#[test]
fn destructors_may_record_and_drop() {
    use reenter::*;
    use std::borrow::Cow;
    struct Ends(Option<Reenter>);
    impl Drop for Ends {
        fn drop(&mut self) {
            let (x, _) = leaf(1.0);
            let y = mul(&x, &x);
            if let Some(held) = self.0.take() {
                drop(mul(&y, &held));
            }
        }
    }
    impl ferrograd::graph::Rule<Reenter> for Ends {
        fn name(&self) -> Cow<'static, str> {
            "ends".into()
        }
        fn backward(
            &self,
            _: &mut ferrograd::graph::Context<'_, Reenter>,
        ) -> ferrograd::error::Result<()> {
            Ok(())
        }
    }
    let mut y = leaf(1.0).0;
    for _ in 0..10_000 {
        let edges = smallvec![y.edge.clone()];
        let rule = RuleRef::Boxed(Box::new(Ends(Some(y))));
        let node = record(rule, edges, smallvec![], 1, 0.0, Flags::NONE).expect("nothing refuses");
        y = Reenter { x: 0.0, edge: Some(ferrograd::graph::Edge::new(node, 0)) };
    }
    drop(y);
    assert_eq!(live(), 0);
}

value!(Shared, shared);

#[test]
fn threads_share_graphs_keys_and_passes() {
    use shared::*;
    let (x, _) = leaf(1.1);
    let h = (0..50).fold(x.clone(), |y, _| mul(&y, &x));
    let key = h.edge.as_ref().unwrap().node().id();
    let stop = Arc::new(AtomicBool::new(false));
    let upgrades = {
        let stop = Arc::clone(&stop);
        thread::spawn(move || {
            let mut seen = 0u64;
            while !stop.load(Ordering::Relaxed) {
                seen += u64::from(key.upgrade().is_some());
            }
            seen
        })
    };
    let want = grad(&add(&h, &h), &[&x], true).unwrap()[0].as_ref().unwrap().x;
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let y = add(&h, &h);
                    let edges = vec![x.edge.clone().unwrap()];
                    let got =
                        pass(&y, ferrograd::graph::Targets::Capture(edges), true, false).unwrap();
                    assert_eq!(got[0].as_ref().unwrap().x.to_bits(), want.to_bits());
                }
            });
        }
    });
    drop(h);
    stop.store(true, Ordering::Relaxed);
    upgrades.join().unwrap();
    drop(x);
    assert!(key.upgrade().is_none());
    assert_eq!(live(), 0);
}

value!(Race, race);

#[test]
fn one_of_two_freeing_passes_wins() {
    use race::*;
    for _ in 0..200 {
        let (x, gx) = leaf(2.0);
        let y = mul(&x, &x);
        let done: Vec<bool> = thread::scope(|scope| {
            let runs: Vec<_> = (0..2).map(|_| scope.spawn(|| backward(&y).is_ok())).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        assert_eq!(done.iter().filter(|ok| **ok).count(), 1);
        assert_eq!(value_of(&gx), Some(4.0));
    }
    assert_eq!(live(), 0);
}
