//! Explanations of an executable: the kind and the formulas of its steps, and its buffers.

use super::executable::Executable;
use crate::compile::ir::{Action, Source, Step};

/// Longer formulas are cut off.
const FORMULA_CHARS: usize = 48;

/// A step: its kind, and the formulas that it computes as far as they are known.
pub type StepExplanation = (&'static str, Vec<String>);

impl Step {
    fn kind(&self) -> &'static str {
        match self.action {
            Action::Map(_) => "map",
            Action::Chain(_) => "chain",
            Action::Sequence(_) => "sequence",
            Action::Decision(_) => "decision",
            Action::HostCall(_) => "foreign",
            _ => "kernel",
        }
    }

    /// The formulas of its loops.
    pub(in crate::compile) fn formulas(&self) -> Vec<String> {
        match &self.action {
            Action::Map(map) => vec![clip(map.formula().1)],
            Action::Chain(chain) => chain.formulas.clone(),
            Action::Sequence(steps) => steps.iter().flat_map(Step::formulas).collect(),
            Action::Reduce(op, _) => vec![format!("{op:?}").to_lowercase()],
            _ => Vec::new(),
        }
    }
}

fn clip(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(FORMULA_CHARS) {
        Some((at, _)) => format!("{}…", &one_line[..at]),
        None => one_line,
    }
}

impl Executable {
    /// The kind and the formulas of each step, in the order of execution.
    pub fn explain(&self) -> Vec<StepExplanation> {
        self.steps().iter().map(|step| (step.kind(), step.formulas())).collect()
    }

    /// The buffers that steps use: id, source, bytes.
    pub fn memory(&self) -> Vec<(u32, String, usize)> {
        let mut used: Vec<u32> = self.steps().iter().flat_map(Step::buffers).collect();
        used.extend(self.outputs().iter().map(|output| output.buffer));
        used.sort_unstable();
        used.dedup();
        let describe = |id: u32| {
            let from = match self.source(id) {
                Source::Input(number) if *number < self.arguments() => format!("argument {number}"),
                Source::Input(_) | Source::External(_) => "outside".to_owned(),
                Source::Constant(_) => "constant".to_owned(),
                Source::Output => "result".to_owned(),
                Source::Temporary => "temporary".to_owned(),
                Source::Unused => return None,
            };
            Some((id, from, self.nbytes(id)))
        };
        used.into_iter().filter_map(describe).collect()
    }
}
