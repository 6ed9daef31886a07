//! Which backward program of the body each iteration of a backward loop runs, depending on the gradients that reach
//! it.

use smallvec::SmallVec;

use super::body_backward::BodyBackward;
use super::run_loop::LoopProgram;

/// Bound on the backward programs of one body.
const MAX_VARIANTS: usize = 16;

/// The backward programs of one backward loop.
pub struct BackwardPlan {
    pub(in crate::compile) variants: SmallVec<[Variant; 1]>,
    /// For each argument, then each closure: the index of its gradient among the gradients of the loop.
    pub(in crate::compile) gradient_indices: Vec<Option<usize>>,
}

/// An iteration with a given set of cotangents.
pub(in crate::compile) struct Variant {
    /// Which cotangents are present.
    present: Vec<bool>,
    pub(in crate::compile) body_backward: BodyBackward,
    /// The arguments and closures whose gradients it computes.
    pub(in crate::compile) targets: Vec<usize>,
    /// The variant of the iteration before it.
    pub(in crate::compile) next: usize,
}

impl BackwardPlan {
    /// For each argument and each closure, whether the loop computes its gradient.
    pub fn gradients(&self) -> impl Iterator<Item = bool> + '_ {
        self.gradient_indices.iter().map(Option::is_some)
    }

    /// Whether some iteration computes no gradient of this target.
    pub(in crate::compile) fn may_miss(&self, target: usize) -> bool {
        self.variants.iter().any(|variant| !variant.targets.contains(&target))
    }

    fn of(of: &LoopProgram, variants: SmallVec<[Variant; 1]>) -> BackwardPlan {
        let (carries, mut is_computed) = (of.parts.carries, vec![false; of.parts.grads.len()]);
        let known = of.parts.condition.is_none().then_some(of.parts.length);
        let (mut current, mut last) = (0, 0);
        // Later iterations repeat one of these variants.
        for _ in 0..known.unwrap_or(usize::MAX).min(2 * variants.len()) {
            variants[current].targets.iter().for_each(|&target| is_computed[target] = true);
            current = variants[current].next;
        }
        if let Some(count) = known {
            current = 0;
            (0..count).for_each(|_| (last, current) = (current, variants[current].next));
            let end = &variants[last].targets;
            (0..carries).for_each(|target| is_computed[target] = end.contains(&target));
        }
        let mut next = 0..;
        let index = |is_computed: bool| if is_computed { next.next() } else { None };
        let gradient_indices = is_computed.into_iter().map(index).collect();
        BackwardPlan { variants, gradient_indices }
    }
}

impl LoopProgram {
    /// The plan for a backward pass with these cotangents of the results that require grad; `None` means all of them,
    /// in every iteration. Returns `None` if the trace does not determine the programs.
    pub fn backward_plan(&self, present: Option<&[bool]>) -> Option<BackwardPlan> {
        let mut variants: SmallVec<[Variant; 1]> = SmallVec::new();
        let Some(present) = present else {
            variants.push(self.variant(vec![true; self.grad_results().count()])?);
            return Some(BackwardPlan::of(self, variants));
        };
        let mut wanted = present.to_vec();
        loop {
            let mut variant = self.variant(wanted.clone())?;
            for (number, result) in self.grad_results().enumerate() {
                if result < self.parts.carries {
                    wanted[number] = variant.targets.contains(&result);
                }
            }
            let known = variants.iter().position(|known| known.present == wanted);
            let own = (variant.present == wanted).then_some(variants.len());
            variant.next = known.or(own).unwrap_or(variants.len() + 1);
            variants.push(variant);
            if known.or(own).is_some() {
                return Some(BackwardPlan::of(self, variants));
            }
            if variants.len() == MAX_VARIANTS {
                return None;
            }
        }
    }

    /// The variant for these cotangents; `None` if there is no program.
    fn variant(&self, present: Vec<bool>) -> Option<Variant> {
        let body_backward = BodyBackward::of(&self.parts.body, &present)?;
        let has =
            |number: &Option<usize>| number.is_some_and(|n| body_backward.results.contains(&n));
        let targets = (0..).zip(&self.parts.grads).filter(|(_, number)| has(number));
        let targets = targets.map(|(target, _)| target).collect();
        Some(Variant { present, body_backward, targets, next: 0 })
    }
}
