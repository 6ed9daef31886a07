//! Rules: their mode, their failures and mistakes, passes of their own; hooks around them.
#[macro_use]
mod graph_support;

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use ferrograd::error::Result;
use ferrograd::graph::{
    Context, Edge, Flags, Hook, NodeHook, RetainGradHook, Rule, RuleRef, RunningPass, Saved,
    Targets, grad_enabled, record,
};
use graph_support::on_a_main_stack;
use smallvec::smallvec;

fn variant<T>(result: Result<T>) -> &'static str {
    match result {
        Ok(_) => "Ok",
        Err(error) => error.variant(),
    }
}

value!(Modes, modes);

#[test]
fn the_mode_inside_rules_is_create_graph() {
    use modes::*;
    struct Look;
    impl Rule<Modes> for Look {
        fn name(&self) -> Cow<'static, str> {
            "look".into()
        }
        fn backward(&self, cx: &mut Context<'_, Modes>) -> Result<()> {
            assert_eq!(grad_enabled(), cx.create_graph());
            // A rule that forgets to restore the mode harms nobody.
            ferrograd::graph::set_grad_enabled(!cx.create_graph());
            let g = cx.take_grad(0).unwrap();
            cx.give(0, g)?;
            Ok(())
        }
    }
    {
        let (x, gx) = leaf(1.0);
        let y =
            attach(1.0, &Look, &[&attach(1.0, &Look, &[&x], smallvec![], 1.0)], smallvec![], 1.0);
        for create in [false, true] {
            pass(&y, Targets::Leaves, true, create).unwrap();
            assert!(grad_enabled());
        }
        gx.lock().unwrap().take();
    }
    assert_eq!(live(), 0);
}

value!(Fails, fails);

mod failing {
    use std::borrow::Cow;

    use super::fails::*;
    use ferrograd::error::{Error, Result};
    use ferrograd::graph::{Context, Rule};

    pub(super) struct Failing;
    impl Rule<Fails> for Failing {
        fn name(&self) -> Cow<'static, str> {
            "failing".into()
        }
        fn backward(&self, _: &mut Context<'_, Fails>) -> Result<()> {
            Err(Error::Contract { what: "failing: no".into() }.into())
        }
    }

    pub(super) struct Panicking;
    impl Rule<Fails> for Panicking {
        fn name(&self) -> Cow<'static, str> {
            "panicking".into()
        }
        fn backward(&self, _: &mut Context<'_, Fails>) -> Result<()> {
            panic!("a rule panicked");
        }
    }
}

#[test]
fn a_failing_rule_changes_no_leaf() {
    use fails::*;
    {
        let (x, gx) = leaf(1.0);
        let (z, gz) = leaf(1.0);
        let bad = attach(1.0, &failing::Failing, &[&x], smallvec![], 1.0);
        // The node with `z` runs before the failing one.
        let y = mul(&bad, &z);
        assert_eq!(variant(pass(&y, Targets::Leaves, true, false)), "Contract");
        assert_eq!((value_of(&gx), value_of(&gz)), (None, None));
        let bad = attach(1.0, &failing::Panicking, &[&x], smallvec![], 1.0);
        let y = mul(&bad, &z);
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pass(&y, Targets::Leaves, true, true)
        }));
        assert_eq!(*panic.err().unwrap().downcast::<&str>().unwrap(), "a rule panicked");
        assert_eq!((value_of(&gx), value_of(&gz)), (None, None));
        assert!(grad_enabled());
        // The graph is still usable for what works.
        assert_eq!(grad(&y, &[&z], false).unwrap()[0].as_ref().unwrap().x, 1.0);
    }
    assert_eq!(live(), 0);
}

value!(Nested, nested);

#[test]
fn passes_within_passes() {
    on_a_main_stack(nested_passes);
}

fn nested_passes() {
    use nested::*;
    /// Runs a pass of its own, to the depth of the saved number.
    struct Inner;
    impl Rule<Nested> for Inner {
        fn name(&self) -> Cow<'static, str> {
            "inner".into()
        }
        fn backward(&self, cx: &mut Context<'_, Nested>) -> Result<()> {
            let depth = cx.scalar(0)?;
            let mut g = cx.take_grad(0).unwrap();
            if depth > 0.0 {
                let _on = ferrograd::graph::ModeGuard::grad(true);
                let (x, gx) = leaf(1.0);
                backward(&deeper(&x, depth - 1.0))?;
                g.x *= value_of(&gx).unwrap() + 1.0;
            }
            cx.give(0, g)?;
            Ok(())
        }
    }
    fn deeper(x: &Nested, depth: f64) -> Nested {
        attach(x.x, &Inner, &[x], smallvec![Saved::Scalar(depth)], 1.0)
    }
    {
        let (x, gx) = leaf(1.0);
        backward(&deeper(&x, 400.0)).unwrap();
        assert_eq!(value_of(&gx), Some(401.0));
    }
    assert_eq!(live(), 0);
}

value!(Wrong, wrong);

#[test]
fn mistakes_of_a_rule_are_errors() {
    use wrong::*;
    struct TooMany;
    impl Rule<Wrong> for TooMany {
        fn name(&self) -> Cow<'static, str> {
            "too_many".into()
        }
        fn backward(&self, cx: &mut Context<'_, Wrong>) -> Result<()> {
            let which = cx.scalar(0)?;
            if which == 0.0 {
                cx.give(1, plain(1.0))?;
            } else if which == 1.0 {
                cx.saved(3)?;
            } else {
                cx.saved(0)?;
            }
            Ok(())
        }
    }
    {
        let (x, gx) = leaf(1.0);
        for which in 0..3 {
            let saved = smallvec![Saved::Scalar(f64::from(which))];
            let node = record(
                RuleRef::Boxed(Box::new(TooMany)),
                smallvec![x.edge.clone()],
                saved,
                1,
                1.0,
                Flags::NONE,
            )
            .expect("nothing refuses");
            let y = Wrong { x: 1.0, edge: Some(Edge::new(node, 0)) };
            assert_eq!(variant(pass(&y, Targets::Leaves, true, false)), "Internal");
            assert_eq!(variant(backward(&y)), "Internal");
        }
        assert_eq!(value_of(&gx), None);
    }
    assert_eq!(live(), 0);
}

value!(Hooked, hooked);
use hooked::Hooked;

struct Times(f64);

impl Hook<Hooked> for Times {
    fn call(&self, grad: Hooked, _: &dyn RunningPass<Hooked>) -> Result<Option<Hooked>> {
        Ok((self.0 != 1.0).then(|| hooked::plain(self.0 * grad.x)))
    }
}

/// Keeps what it sees; returns `answer` if there is one.
#[derive(Default)]
struct See {
    seen: Mutex<Vec<(Option<Vec<f64>>, f64)>>,
    answer: Option<Vec<f64>>,
}

impl NodeHook<Hooked> for See {
    fn call(
        &self,
        inputs: Option<&[Option<Hooked>]>,
        outputs: &[Option<Hooked>],
    ) -> Result<Option<Vec<Option<Hooked>>>> {
        let number = |v: &Option<Hooked>| v.as_ref().map_or(f64::NAN, |v| v.x);
        let inputs = inputs.map(|inputs| inputs.iter().map(number).collect());
        self.seen.lock().unwrap().push((inputs, number(&outputs[0])));
        Ok(self.answer.as_ref().map(|a| a.iter().map(|x| Some(hooked::plain(*x))).collect()))
    }
}

struct Keep(Mutex<Option<f64>>);

impl RetainGradHook<Hooked> for Keep {
    fn store(&self, grad: Hooked, _create_graph: bool) -> Result<()> {
        *self.0.lock().unwrap() = Some(grad.x);
        Ok(())
    }
}

#[test]
fn hooks_see_and_replace_gradients() {
    use hooked::*;
    {
        let ((x, gx), (w, gw)) = (leaf(2.0), leaf(3.0));
        let h = mul(&x, &w);
        let y = mul(&h, &plain(10.0));
        let node = h.edge.as_ref().unwrap().node();
        let attachments = node.attachments_or_new();
        let keep = Arc::new(Keep(Mutex::default()));
        let (before, after) = (Arc::new(See::default()), Arc::new(See::default()));
        attachments.add_output_hook(0, Arc::new(Times(1.0)));
        attachments.add_output_hook(0, Arc::new(Times(0.5)));
        attachments.add_retain_grad_hook(0, keep.clone());
        attachments.add_pre_hook(before.clone());
        attachments.add_post_hook(after.clone());
        let doubled = Arc::new(See { answer: Some(vec![100.0, 200.0]), ..See::default() });
        let key = attachments.add_post_hook(doubled);
        let leaf_node = x.edge.as_ref().unwrap().node();
        leaf_node.attachments_or_new().add_output_hook(0, Arc::new(Times(-1.0)));
        pass(&y, Targets::Leaves, true, false).unwrap();
        assert_eq!(*keep.0.lock().unwrap(), Some(5.0));
        assert_eq!(*before.seen.lock().unwrap(), [(None, 5.0)]);
        assert_eq!(*after.seen.lock().unwrap(), [(Some(vec![15.0, 10.0]), 5.0)]);
        assert_eq!((value_of(&gx), value_of(&gw)), (Some(-100.0), Some(200.0)));
        attachments.remove(key);
        // Captured gradients have passed the hooks too.
        let got = grad(&y, &[&x, &h], true).unwrap();
        assert_eq!(got.iter().map(|g| g.as_ref().unwrap().x).collect::<Vec<_>>(), [-15.0, 5.0]);
        attachments.add_post_hook(Arc::new(See { answer: Some(vec![1.0]), ..See::default() }));
        let wrong = pass(&y, Targets::Leaves, true, false);
        assert!(
            wrong.as_ref().unwrap_err().to_string().contains("returned 1 gradients for 2 inputs")
        );
        assert_eq!((value_of(&gx), value_of(&gw)), (Some(-100.0), Some(200.0)));
    }
    assert_eq!(live(), 0);
}

value!(AtOnce, at_once);
use at_once::AtOnce;

/// An accumulator that tells when it commits.
struct Tell(Arc<Mutex<Vec<&'static str>>>);

impl Rule<AtOnce> for Tell {
    fn name(&self) -> Cow<'static, str> {
        "tell".into()
    }
    fn backward(&self, _: &mut Context<'_, AtOnce>) -> Result<()> {
        unreachable!("accumulators commit")
    }
    fn commit(&self, _: AtOnce, _: bool) -> Result<()> {
        self.0.lock().unwrap().push("commit");
        Ok(())
    }
    fn commits_immediately(&self) -> bool {
        true
    }
}

/// An operation that tells when it runs backward.
struct Says(Arc<Mutex<Vec<&'static str>>>);

impl Rule<AtOnce> for Says {
    fn name(&self) -> Cow<'static, str> {
        "says".into()
    }
    fn backward(&self, cx: &mut Context<'_, AtOnce>) -> Result<()> {
        self.0.lock().unwrap().push("early operation");
        let g = cx.take_grad(0).unwrap();
        cx.give(0, g)?;
        Ok(())
    }
}

#[test]
fn a_leaf_may_be_told_at_once() {
    use at_once::*;
    {
        let log = Arc::new(Mutex::new(Vec::new()));
        let (x, gx) = leaf(1.0);
        let says = RuleRef::Boxed(Box::new(Says(Arc::clone(&log))));
        let early = record(says, smallvec![x.edge.clone()], smallvec![], 1, 1.0, Flags::NONE)
            .expect("nothing refuses");
        let tell = RuleRef::Boxed(Box::new(Tell(Arc::clone(&log))));
        let late = record(tell, smallvec![], smallvec![], 1, 0.0, Flags::ACCUMULATOR)
            .expect("nothing refuses");
        let of = |node| AtOnce { x: 1.0, edge: Some(Edge::new(node, 0)) };
        backward(&mul(&of(early), &of(late))).unwrap();
        assert_eq!(*log.lock().unwrap(), ["commit", "early operation"]);
        assert_eq!(value_of(&gx), Some(1.0));
    }
    assert_eq!(live(), 0);
}
