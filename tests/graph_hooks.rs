//! Hooks: their order at a leaf, and what they learn of the pass that calls them.
#[macro_use]
mod graph_support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ferrograd::error::Result;
use ferrograd::graph::{Hook, NodeHook, RunningPass, Targets};

value!(Order, order);
use order::Order;

type Log = Arc<Mutex<Vec<&'static str>>>;

/// Writes its name into the log.
struct Says(&'static str, Log);

impl Hook<Order> for Says {
    fn call(&self, _: Order, _: &dyn RunningPass<Order>) -> Result<Option<Order>> {
        self.1.lock().unwrap().push(self.0);
        Ok(None)
    }
}

impl NodeHook<Order> for Says {
    fn call(
        &self,
        _: Option<&[Option<Order>]>,
        _: &[Option<Order>],
    ) -> Result<Option<Vec<Option<Order>>>> {
        self.1.lock().unwrap().push(self.0);
        Ok(None)
    }
}

#[test]
fn hooks_at_a_leaf_run_in_order_right_after_its_last_consumer() {
    use order::*;
    {
        let log = Log::default();
        let says = |name| Arc::new(Says(name, Arc::clone(&log)));
        let ((x, gx), (w, gw)) = (leaf(2.0), leaf(3.0));
        let attachments = w.edge.as_ref().unwrap().node().attachments_or_new();
        attachments.add_post_hook(says("after"));
        attachments.add_commit_hook(says("committed"));
        attachments.add_pre_hook(says("before"));
        attachments.add_output_hook(0, says("output"));
        for _ in 0..2 {
            let early = mul(&x, &x);
            early
                .edge
                .as_ref()
                .unwrap()
                .node()
                .attachments_or_new()
                .add_output_hook(0, says("early"));
            let y = mul(&early, &w);
            pass(&y, Targets::Leaves, true, false).unwrap();
            let seen = std::mem::take(&mut *log.lock().unwrap());
            assert_eq!(seen, ["output", "before", "committed", "after", "early"]);
            // Captured: the tensor's hooks only.
            grad(&y, &[&w], true).unwrap();
            assert_eq!(std::mem::take(&mut *log.lock().unwrap()), ["output"]);
            pass(&y, Targets::LeavesOf(vec![w.edge.clone().unwrap()]), true, false).unwrap();
            let seen = std::mem::take(&mut *log.lock().unwrap());
            assert_eq!(seen, ["output", "before", "committed", "after"]);
        }
        assert_eq!(value_of(&gw), Some(16.0));
        assert_eq!(value_of(&gx), Some(24.0));
    }
    assert_eq!(live(), 0);
}

value!(Reach, reach);
use reach::Reach;

/// Counts the passes and what they reach of two outputs.
struct Asks {
    others: Mutex<Vec<(ferrograd::graph::NodeId<Reach>, u32)>>,
    reached: AtomicUsize,
    tokens: Mutex<Vec<std::sync::Weak<()>>>,
}

impl Hook<Reach> for Asks {
    fn call(&self, _: Reach, pass: &dyn RunningPass<Reach>) -> Result<Option<Reach>> {
        let others = self.others.lock().unwrap();
        let reached = others.iter().filter(|(node, k)| pass.reaches(node, *k)).count();
        self.reached.store(reached, Ordering::Relaxed);
        let token = pass.token();
        assert!(token.upgrade().is_some());
        self.tokens.lock().unwrap().push(token);
        Ok(None)
    }
}

#[test]
fn a_hook_learns_what_its_pass_reaches() {
    use reach::*;
    {
        let ((x, _), (w, _), (alone, _)) = (leaf(2.0), leaf(3.0), leaf(4.0));
        let place = |v: &Reach| {
            let edge = v.edge.as_ref().unwrap();
            (edge.node().id(), edge.output())
        };
        let asks = Arc::new(Asks {
            others: Mutex::new(vec![place(&x), place(&w), place(&alone)]),
            reached: AtomicUsize::new(0),
            tokens: Mutex::default(),
        });
        let h = mul(&x, &w);
        h.edge.as_ref().unwrap().node().attachments_or_new().add_output_hook(0, asks.clone());
        let y = mul(&h, &h);
        pass(&y, Targets::Leaves, true, false).unwrap();
        assert_eq!(asks.reached.load(Ordering::Relaxed), 2);
        grad(&y, &[&w], true).unwrap();
        assert_eq!(asks.reached.load(Ordering::Relaxed), 1);
        let tokens = asks.tokens.lock().unwrap();
        assert_eq!(tokens.len(), 2);
        assert!(tokens.iter().all(|token| token.strong_count() == 0));
        assert!(!tokens[0].ptr_eq(&tokens[1]));
    }
    assert_eq!(live(), 0);
}
