//! The schedule of a parallel walk: consumer counts, ranks and costs, by two linear scans of the plan.
//!
//! Invariant: the ranks of an output's consumers are the order in which the serial walk adds their contributions.

use super::parallel::OFFER_NS;
use crate::graph::engine::plan::Plan;
use crate::graph::node::Flags;
use crate::graph::rule_context::NO_TARGET;
use crate::graph::value::Value;

/// The rank of an edge to an output that an earlier edge of the same node leads to.
pub(super) const DUPLICATE: u32 = u32::MAX;
/// The position of a node that is not in the order (a leaf).
pub(super) const NO_POSITION: u32 = u32::MAX;

/// Dense tables about a plan.
pub(in crate::graph::engine) struct Schedule {
    /// For each output, its node.
    pub(in crate::graph::engine) owner: Vec<u32>,
    /// For each edge, its rank among the consumers of its target, or `DUPLICATE`.
    pub(super) ranks: Vec<u32>,
    /// For each node, the number of (consumer, output) pairs that it waits for.
    pub(super) awaited: Vec<u32>,
    /// For each node, the cost in nanoseconds of it and of the nodes that only it leads to.
    pub(super) cones: Vec<f32>,
    /// For each node, its position in the order.
    pub(in crate::graph::engine) positions: Vec<u32>,
    /// The cost of native work off the critical path that can be offered in pieces of sufficient size.
    pub(in crate::graph::engine) forkable: f32,
}

impl Schedule {
    pub(in crate::graph::engine) fn new<V: Value>(plan: &Plan<'_, V>) -> Schedule {
        let nodes = plan.items.len();
        let mut schedule = Schedule {
            owner: plan.owners(),
            ranks: vec![DUPLICATE; plan.targets.len()],
            awaited: vec![0; nodes],
            cones: vec![0.0; nodes],
            positions: vec![NO_POSITION; nodes],
            forkable: 0.0,
        };
        schedule.compute_ranks(plan);
        schedule.compute_costs(plan);
        schedule
    }

    /// Consumers first: counts consumers, and ranks their contributions.
    fn compute_ranks<V: Value>(&mut self, plan: &Plan<'_, V>) {
        let mut next = vec![0u32; plan.outputs as usize];
        // The last consumer of each output, to recognise a second edge of the same node.
        let mut last = vec![u32::MAX; plan.outputs as usize];
        for (position, &k) in plan.order.iter().enumerate() {
            self.positions[k as usize] = position as u32;
            let first = plan.items[k as usize].edges as usize;
            for (i, &target) in plan.targets_of(k).iter().enumerate() {
                if target == NO_TARGET {
                    continue;
                }
                let target = target as usize;
                if last[target] == k {
                    continue;
                }
                last[target] = k;
                self.ranks[first + i] = next[target];
                next[target] += 1;
                self.awaited[self.owner[target] as usize] += 1;
            }
        }
    }

    /// Producers first: cones, the critical path, and the work that can run in parallel to it.
    fn compute_costs<V: Value>(&mut self, plan: &Plan<'_, V>) {
        let mut path = vec![0f32; plan.items.len()];
        let (mut all, mut native, mut longest) = (0f64, 0f64, 0f32);
        let (mut pieces, mut roots) = (0f64, Fork::default());
        for &k in plan.order.iter().rev() {
            let node = plan.items[k as usize].node.get();
            let (mut cone, mut below, mut fork) = (node.cost(), 0f32, Fork::default());
            let first = plan.items[k as usize].edges as usize;
            for (i, &target) in plan.targets_of(k).iter().enumerate() {
                if target == NO_TARGET || self.ranks[first + i] == DUPLICATE {
                    continue;
                }
                let input = self.owner[target as usize] as usize;
                below = below.max(path[input]);
                if self.awaited[input] == 1 {
                    cone += self.cones[input];
                    fork.add(self.cones[input]);
                }
            }
            self.cones[k as usize] = cone;
            pieces += fork.offered();
            match self.awaited[k as usize] {
                0 => roots.add(cone),
                1 => {}
                // It becomes ready when its last consumer has run, in parallel to anything.
                _ if cone >= OFFER_NS => pieces += f64::from(cone),
                _ => {}
            }
            path[k as usize] = node.cost() + below;
            longest = longest.max(path[k as usize]);
            all += f64::from(node.cost());
            if !node.flags().has(Flags::HOST_OBJECTS) {
                native += f64::from(node.cost());
            }
        }
        pieces += roots.offered();
        self.forkable = (all - f64::from(longest)).min(native).min(pieces) as f32;
    }
}

/// Nodes that become ready together: a worker keeps the largest and can offer the others.
#[derive(Default)]
struct Fork {
    sum: f64,
    largest: f32,
}

impl Fork {
    fn add(&mut self, cone: f32) {
        if cone >= OFFER_NS {
            self.sum += f64::from(cone);
            self.largest = self.largest.max(cone);
        }
    }

    fn offered(&self) -> f64 {
        self.sum - f64::from(self.largest)
    }
}
