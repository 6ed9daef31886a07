//! A program bound to the memory of its arguments and results: runs allocate nothing.
//!
//! Invariant: a run reads what the arguments hold when it begins.

use std::ffi::c_int;
use std::sync::Arc;

use super::leaf_state::GradMemory;
use super::program::{Program, byte_offset};
pub use crate::compile::CClosure;
use crate::compile::{BoundMemory, Source, Step};
use crate::error::{Error, Result};
use crate::ops::inplace::write_access::WriteGuards;
use crate::tensor::Tensor;

const OP: &str = "bind";

/// The status codes of a call from C.
const STATUS_OK: c_int = 0;
/// Another thread is running it.
const STATUS_BUSY: c_int = 1;
/// A guard failed: the function must be traced and bound again.
const STATUS_STALE: c_int = 2;
/// A step failed.
const STATUS_FAILED: c_int = 3;

/// A program with the memory of its arguments and results.
///
/// ```
/// use std::sync::Arc;
/// use ferrograd::{Program, Tensor};
/// let mut x = Tensor::from(vec![0.5, 1.0]);
/// let exp = |xs: &[Tensor]| Ok::<_, Box<ferrograd::Error>>(vec![xs[0].exp()?]);
/// let (program, _) = Program::trace(&[x.clone()], false, exp)?;
/// let run = Arc::new(program).bind(&[x.clone()])?;
/// x += &Tensor::from(vec![-0.5, -1.0]);
/// run.run()?;
/// assert_eq!(run.results()[0].to_vec::<f64>()?, [1.0, 1.0]);
/// # Ok::<(), Box<ferrograd::Error>>(())
/// ```
pub struct BoundProgram {
    program: Arc<Program>,
    memory: BoundMemory,
    results: Vec<Tensor>,
    /// The memory of leaf gradients that runs accumulate into.
    gradients: GradMemory,
}

impl Program {
    /// Binds the program to the memory of arguments, which every run reads, and to result tensors, which every run
    /// overwrites.
    ///
    /// # Errors
    /// `Argument` if number, dtype or shape of the arguments differ, or one is not contiguous; `NotTraceable` if the
    /// program writes to the memory of an argument.
    pub fn bind(self: &Arc<Program>, arguments: &[Tensor]) -> Result<BoundProgram> {
        self.check(OP, arguments)?;
        if let Some(number) = arguments.iter().position(|argument| !argument.is_contiguous()) {
            return Err(Box::new(Error::Argument {
                op: OP.into(),
                what: format!("the elements of argument {number} do not lie in C order"),
                remedy: "pass a copy that is contiguous".into(),
            }));
        }
        self.refuse_written(OP, arguments)?;
        let inputs = arguments.iter().map(|a| (a.storage().full_handle(), byte_offset(a)));
        let gradients = self.grad_memory().ok_or_else(stale_error)?;
        let grad_inputs = gradients.memory().iter().map(|memory| (memory.clone(), 0));
        let memory = self.executable().bind_memory(inputs.chain(grad_inputs).collect())?;
        let result = |number: usize| {
            let output = &self.executable().outputs()[number];
            match (self.executable().source(output.buffer), memory.copy(output.buffer)) {
                (Source::Input(_) | Source::Constant(_), Some(copy)) => {
                    let (layout, dtype) = (output.layout.clone(), output.dtype);
                    Ok(Tensor::assemble(copy.clone(), layout, dtype, None))
                }
                _ => self.result(number, memory.results(), |i| Ok(arguments[i].clone())),
            }
        };
        let results = (0..self.results()).map(result).collect::<Result<_>>()?;
        Ok(BoundProgram { program: self.clone(), memory, results, gradients })
    }
}

impl BoundProgram {
    /// The results: the same tensors after every run.
    pub fn results(&self) -> &[Tensor] {
        &self.results
    }

    /// Runs the program on the current contents of the arguments.
    ///
    /// # Errors
    /// `State` if another thread is running it; `NotTraceable` if a guard failed or a decision differs from the trace;
    /// what a step raises.
    pub fn run(&self) -> Result<()> {
        let grad_memory = self.program.grad_memory();
        if grad_memory.is_none_or(|grad_memory| !grad_memory.is_same_as(&self.gradients)) {
            return Err(stale_error());
        }
        let finish = || {
            self.program.finish_run(self.memory.results(), &self.gradients)?;
            self.results.iter().for_each(|result| {
                result.storage().bump_version(OP);
            });
            Ok(())
        };
        let _writing = self.program.begin_run(&self.gradients)?;
        let _results = WriteGuards::for_program(OP, self.results.iter().map(Tensor::storage))?;
        self.results.iter().try_for_each(Tensor::keep_saved)?;
        match self.program.executable().run_bound(&self.memory, finish) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Box::new(Error::State {
                op: OP.into(),
                what: "another thread runs this bound function".into(),
                remedy: "bind the function once for each thread",
            })),
            Err(error) if matches!(*error, Error::Diverged { .. }) => Err(stale_error()),
            Err(error) => Err(error),
        }
    }

    /// A C function that runs this. Status: 0 success, 1 another thread is running it, 2 it must be bound again, 3 a
    /// step failed, 4 a panic.
    ///
    /// # Errors
    /// `NotTraceable` if the program calls Python code.
    pub fn callable(self: &Arc<BoundProgram>) -> Result<CClosure> {
        if self.program.executable().steps().iter().any(Step::calls_host) {
            return Err(Box::new(Error::NotTraceable {
                op: OP.into(),
                what: "the function calls Python code, which C cannot".into(),
                remedy: "call it from Python",
            }));
        }
        let bound = self.clone();
        let body = move || match bound.run() {
            Ok(()) => STATUS_OK,
            Err(error) => match *error {
                Error::State { .. } => STATUS_BUSY,
                Error::NotTraceable { .. } => STATUS_STALE,
                _ => STATUS_FAILED,
            },
        };
        Ok(CClosure::new(body))
    }
}

/// The error that the function must be bound again.
#[cold]
pub(crate) fn stale_error() -> Box<Error> {
    Box::new(Error::NotTraceable {
        op: OP.into(),
        what: "what the function read or decided while it was recorded is different now".into(),
        remedy: "call the function itself with these arguments, then bind it again",
    })
}
