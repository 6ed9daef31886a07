//! The serial engine: values, pruning, capture, release, errors, orders of derivative.
#[macro_use]
mod graph_support;

use ferrograd::error::Error;
use ferrograd::graph::{NestedStart, NoHost, Pass, Rule, Targets};
use smallvec::smallvec;

fn variant<T>(result: Result<T, Box<Error>>) -> &'static str {
    match result {
        Ok(_) => "Ok",
        Err(error) => error.variant(),
    }
}

value!(Chain, chain);

#[test]
fn a_chain_of_products() {
    use chain::*;
    {
        let (x, gx) = leaf(3.0);
        let (w, gw) = leaf(2.0);
        let y = mul(&mul(&mul(&x, &w), &w), &w);
        assert_eq!(y.x, 24.0);
        backward(&y).unwrap();
        assert_eq!(value_of(&gx), Some(8.0));
        assert_eq!(value_of(&gw), Some(3.0 * 3.0 * 4.0));
        drop(y);
        // Gradients accumulate over passes.
        backward(&mul(&x, &w)).unwrap();
        assert_eq!(value_of(&gx), Some(10.0));
    }
    assert_eq!(live(), 0);
}

value!(Diamond, diamond);

#[test]
fn a_diamond_with_unequal_arms() {
    use diamond::*;
    {
        let (x, gx) = leaf(1.5);
        let short = exp(&x);
        let long = mul(&mul(&exp(&x), &x), &x);
        let y = add(&mul(&short, &long), &x);
        backward(&y).unwrap();
        // y = x^2 e^2x + x
        let want = (2.0 * 1.5 + 2.0 * 1.5 * 1.5) * 3f64.exp() + 1.0;
        assert!((value_of(&gx).unwrap() - want).abs() < 1e-12 * want);
    }
    assert_eq!(live(), 0);
}

value!(Same, same);

#[test]
fn one_value_as_both_operands() {
    use same::*;
    {
        let (x, gx) = leaf(3.0);
        backward(&mul(&x, &x)).unwrap();
        assert_eq!(value_of(&gx), Some(6.0));
    }
    assert_eq!(live(), 0);
}

value!(Multi, multi);

#[test]
fn several_outputs_and_one_unused() {
    use multi::*;
    {
        let (x, gx) = leaf(5.0);
        let (a, _unused) = split(&x);
        backward(&a).unwrap();
        assert_eq!(value_of(&gx), Some(2.0));
        let (a, b) = split(&x);
        backward(&mul(&a, &b)).unwrap();
        assert_eq!(value_of(&gx), Some(2.0 + 2.0 * 15.0 + 3.0 * 10.0));
    }
    assert_eq!(live(), 0);
}

value!(Roots, roots);

#[test]
fn several_roots_are_summed() {
    use roots::*;
    {
        let (x, gx) = leaf(5.0);
        let y = mul(&x, &x);
        let edge = y.edge.clone().unwrap();
        let leaf_edge = x.edge.clone().unwrap();
        let roots = vec![(edge.clone(), plain(1.0)), (edge, plain(0.5)), (leaf_edge, plain(7.0))];
        let pass = Pass {
            since: NestedStart::default(),
            roots,
            targets: Targets::Leaves,
            retain_graph: false,
            create_graph: false,
            host: &NoHost,
            threads: 1,
        };
        pass.run().unwrap();
        assert_eq!(value_of(&gx), Some(15.0 + 7.0));
    }
    assert_eq!(live(), 0);
}

value!(Capture, capture);

#[test]
fn capture_returns_gradients_and_commits_nothing() {
    use capture::*;
    {
        let (x, gx) = leaf(2.0);
        let (w, gw) = leaf(3.0);
        let (other, _) = leaf(1.0);
        let h = mul(&x, &w);
        let y = mul(&h, &h);
        let grads = grad(&y, &[&h, &x, &x, &other, &y], false).unwrap();
        let got: Vec<Option<f64>> = grads.iter().map(|g| g.as_ref().map(|g| g.x)).collect();
        assert_eq!(got, [Some(12.0), Some(36.0), Some(36.0), None, Some(1.0)]);
        assert_eq!((value_of(&gx), value_of(&gw)), (None, None));
    }
    assert_eq!(live(), 0);
}

value!(Prune, prune);

#[test]
fn what_leads_nowhere_does_not_run() {
    use prune::*;
    use std::borrow::Cow;
    struct Forbidden;
    impl Rule<Prune> for Forbidden {
        fn name(&self) -> Cow<'static, str> {
            "forbidden".into()
        }
        fn backward(
            &self,
            _: &mut ferrograd::graph::Context<'_, Prune>,
        ) -> ferrograd::error::Result<()> {
            panic!("a pruned node ran");
        }
    }
    {
        let (x, gx) = leaf(2.0);
        let (w, gw) = leaf(3.0);
        let side = attach(w.x, &Forbidden, &[&w], smallvec![], 1.0);
        let y = mul(&mul(&x, &x), &side);
        pass(&y, Targets::LeavesOf(vec![x.edge.clone().unwrap()]), true, false).unwrap();
        assert_eq!(value_of(&gx), Some(12.0));
        assert_eq!(value_of(&gw), None);
        // The captured node itself does not run either, only what is above it.
        let grads = grad(&y, &[&side], true).unwrap();
        assert_eq!(grads[0].as_ref().unwrap().x, 4.0);
        // Toward an intermediate value nothing is committed; only its hooks see the gradient.
        let between = Targets::LeavesOf(vec![side.edge.clone().unwrap()]);
        pass(&y, between, true, false).unwrap();
        assert_eq!((value_of(&gx), value_of(&gw)), (Some(12.0), None));
    }
    assert_eq!(live(), 0);
}

value!(Freed, freed);

#[test]
fn saved_values_are_freed_unless_retained() {
    use freed::*;
    {
        let (x, gx) = leaf(2.0);
        let y = mul(&x, &x);
        pass(&y, Targets::Leaves, true, false).unwrap();
        backward(&y).unwrap();
        assert_eq!(value_of(&gx), Some(8.0));
        let again = backward(&y);
        assert!(again.as_ref().unwrap_err().to_string().contains("freed by an earlier backward"));
        assert_eq!(variant(again), "GraphFreed");
        assert_eq!(variant(pass(&y, Targets::Leaves, true, false)), "GraphFreed");
        assert_eq!(value_of(&gx), Some(8.0));
        // Nothing saved, nothing freed: runs twice.
        let z = add(&x, &x);
        backward(&z).unwrap();
        backward(&z).unwrap();
        assert_eq!(value_of(&gx), Some(12.0));
    }
    assert_eq!(live(), 0);
}

value!(Orders, orders);

#[test]
fn derivatives_to_the_fourth_order() {
    use orders::*;
    {
        let (x, _) = leaf(0.5);
        // y = x^3 e^x
        let y = mul(&mul(&mul(&x, &x), &x), &exp(&x));
        let mut at = y;
        let mut got = vec![at.x];
        for order in 1..=4 {
            at = grad(&at, &[&x], order < 4).unwrap()[0].clone().unwrap();
            got.push(at.x);
        }
        let (v, e) = (0.5f64, 0.5f64.exp());
        let want = [
            v.powi(3) * e,
            (v.powi(3) + 3.0 * v * v) * e,
            (v.powi(3) + 6.0 * v * v + 6.0 * v) * e,
            (v.powi(3) + 9.0 * v * v + 18.0 * v + 6.0) * e,
            (v.powi(3) + 12.0 * v * v + 36.0 * v + 24.0) * e,
        ];
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() < 1e-12 * want.abs().max(1.0), "{got} {want}");
        }
    }
    assert_eq!(live(), 0);
}
