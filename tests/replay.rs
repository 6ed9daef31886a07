//! Replay through the crate's face: values, gradients, memory outside, what refuses.

use std::sync::Arc;

use ferrograd::{Error, Program, Result, Tensor, grad, no_grad};

fn numbers(t: &Tensor) -> Vec<f64> {
    t.to_vec().unwrap()
}

fn slope(xs: &[Tensor]) -> Result<Vec<Tensor>> {
    let x = xs[0].detach().with_grad();
    let y = (x.sin()? * &x).sum_all()?;
    grad(&[y], &[x])
}

#[test]
fn gradients_replay_with_the_same_bits() {
    let x = Tensor::from(vec![0.5, 1.0, 1.5]);
    let (program, first) = Program::trace(std::slice::from_ref(&x), false, slope).unwrap();
    assert_eq!(numbers(&first[0]), numbers(&slope(&[x]).unwrap()[0]));
    for shift in 0..5 {
        let x = Tensor::from(vec![f64::from(shift), -1.0, 0.25]);
        let again = program.run(std::slice::from_ref(&x)).unwrap();
        assert_eq!(numbers(&again[0]), numbers(&slope(&[x]).unwrap()[0]));
    }
}

#[test]
fn memory_outside_is_read_and_written_where_it_lies() {
    let state = Tensor::from(vec![1.0, 2.0]);
    let f = |xs: &[Tensor]| {
        let mut changed = state.clone();
        no_grad(|| changed += &xs[0]);
        Ok::<_, Box<Error>>(vec![&state * &xs[0]])
    };
    let x = Tensor::from(vec![1.0, 1.0]);
    let (program, _) = Program::trace(std::slice::from_ref(&x), false, f).unwrap();
    assert_eq!(numbers(&state), [2.0, 3.0]);
    let version = state.version();
    let out = program.run(&[x]).unwrap();
    assert_eq!((numbers(&state), numbers(&out[0])), (vec![3.0, 4.0], vec![3.0, 4.0]));
    assert_eq!(state.version(), version + 1);
}

#[test]
fn values_do_not_leave_a_recording() {
    let x = Tensor::from(vec![1.0]);
    let leaks = |xs: &[Tensor]| {
        let value: f64 = xs[0].sum_all()?.item()?;
        Ok::<_, Box<Error>>(vec![Tensor::from(value)])
    };
    let error = Program::trace(std::slice::from_ref(&x), false, leaks).err().unwrap();
    assert!(matches!(*error, Error::NotTraceable { .. }), "{error}");
    let kept = std::cell::RefCell::new(Vec::new());
    let keeps = |xs: &[Tensor]| {
        kept.borrow_mut().push(xs[0].sin()?);
        Ok::<_, Box<Error>>(vec![xs[0].cos()?])
    };
    let error = Program::trace(std::slice::from_ref(&x), false, keeps).err().unwrap();
    assert!(error.to_string().contains("is kept after"), "{error}");
    assert!(Program::trace(&[x], false, slope).is_ok());
}

#[test]
fn arguments_must_be_like_those_that_were_recorded() {
    let x = Tensor::from(vec![1.0, 2.0]);
    let (program, _) = Program::trace(std::slice::from_ref(&x), false, slope).unwrap();
    let text = program.run(&[Tensor::from(vec![1.0])]).unwrap_err().to_string();
    assert!(text.contains("float64(1,)") && text.contains("float64(2,)"), "{text}");
    assert!(program.run(&[]).is_err());
    assert_eq!((program.results(), program.arguments().len()), (1, 1));
    assert!(program.executable().describe_steps().iter().any(|(name, _, _)| *name == "map"));
}

#[test]
fn bound_programs_read_and_write_the_same_memory() {
    let mut x = Tensor::from(vec![0.5, 1.0, 1.5]);
    let (program, _) = Program::trace(std::slice::from_ref(&x), false, slope).unwrap();
    let program = Arc::new(program);
    let run = Arc::new(program.bind(std::slice::from_ref(&x)).unwrap());
    let kept = run.results()[0].clone();
    for _ in 0..3 {
        no_grad(|| x += &Tensor::from(vec![1.0, -1.0, 0.5]));
        run.run().unwrap();
        assert_eq!(numbers(&kept), numbers(&slope(std::slice::from_ref(&x)).unwrap()[0]));
    }
    assert_ne!(run.callable().unwrap().address(), 0);
    let short = program.bind(&[Tensor::from(vec![1.0])]).err().unwrap();
    assert!(short.to_string().contains("recorded for"), "{short}");
}
