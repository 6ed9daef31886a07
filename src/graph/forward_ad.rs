//! Forward mode: levels, nodes that carry tangents, and the step that computes the tangents of an operation's outputs.
//!
//! A value with a tangent has the edge of a `Dual` node, which holds the tangent and passes gradients on to the value's own
//! edge. Nothing else is recorded, so memory does not grow with the length of a program.
//! Invariant: in a chain of `Dual` nodes inner levels stand above outer ones, and a tangent of a level has tangents of outer
//! levels only; so nested derivatives are never confused. Levels that have ended are skipped.

use std::any::Any;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::{SmallVec, smallvec};

use super::arena::{Edge, NodeId, NodeRef, last_seq, set_last_seq};
use super::call_site::innermost_line;
use super::engine::{InputGrads, NestedStart, NoHost, Pass, Targets};
use super::mode::{DUAL, GRAD, Mode, ModeGuard, TRANSFORM};
use super::node::{Edges, Flags, Node};
use super::record::record_plain;
use super::rule::{Rule, RuleRef};
use super::rule_context::{Context, NO_TARGET, SavedEdges};
use super::value::Value;
use crate::error::{Error, Result};
use crate::threads::Lock;

/// A forward derivative that is being computed on this thread.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Level {
    /// Greater for inner levels; never reused.
    serial: u64,
    /// Whether its tangents are recorded for reverse mode.
    records: bool,
    /// The number of tangents of each value, along a first axis that values have not; `None` for one without that axis.
    columns: Option<usize>,
}

type Levels = SmallVec<[Level; 2]>;
/// The name of the nodes of arguments.
const MAKE_DUAL: &str = "make_dual";

type Tangents<V> = SmallVec<[Option<V>; 1]>;

static LAST_SERIAL: AtomicU64 = AtomicU64::new(0);
/// The live levels of all threads.
static LIVE: Lock<BTreeSet<u64>> = Lock::new(BTreeSet::new());

thread_local! {
    /// The live levels, outermost first.
    static LEVELS: RefCell<Vec<Level>> = const { RefCell::new(Vec::new()) };
    /// Levels from this serial number on are hidden: the tangents of one of them are being computed.
    static HIDDEN_FROM: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Enters a level and returns its serial number. With `records`, tangents are recorded for reverse mode as values are. With
/// `columns`, each value has so many tangents, along a first axis of its own.
pub fn enter_level(records: bool, columns: Option<usize>) -> u64 {
    let serial = LAST_SERIAL.fetch_add(1, Ordering::Relaxed) + 1;
    LIVE.lock().insert(serial);
    LEVELS.with_borrow_mut(|levels| levels.push(Level { serial, records, columns }));
    Mode::current().with(DUAL, true).set();
    serial
}

/// Exits a level; tensors keep its tangents, which nobody reads any more. False if it is not live on this thread.
pub fn exit_level(serial: u64) -> bool {
    let (found, any) = LEVELS.with_borrow_mut(|levels| {
        let before = levels.len();
        levels.retain(|level| level.serial != serial);
        (levels.len() < before, !levels.is_empty())
    });
    if found {
        LIVE.lock().remove(&serial);
        Mode::current().with(DUAL, any).set();
    }
    found
}

/// A level that is exited when it is dropped, also by an error or a panic.
#[derive(Debug)]
pub struct LevelGuard(u64);

impl LevelGuard {
    /// Enters a level, see [`enter_level`].
    pub fn enter(records: bool, columns: Option<usize>) -> LevelGuard {
        LevelGuard(enter_level(records, columns))
    }

    /// The serial number of the level.
    pub fn serial(&self) -> u64 {
        self.0
    }
}

impl Drop for LevelGuard {
    fn drop(&mut self) {
        exit_level(self.0);
    }
}

/// The level, if it is live and not hidden.
fn visible(serial: u64) -> Option<Level> {
    if serial >= HIDDEN_FROM.get() {
        return None;
    }
    LEVELS.with_borrow(|levels| levels.iter().find(|level| level.serial == serial).copied())
}

/// Whether no level of this thread has the serial number.
fn has_ended(serial: u64) -> bool {
    LEVELS.with_borrow(|levels| levels.iter().all(|level| level.serial != serial))
}

/// The rule of a node that carries tangents of one level and passes gradients on.
struct Dual<V> {
    /// The name of the operation whose outputs have the tangents.
    name: Cow<'static, str>,
    level: u64,
    /// One for each output; or why they could not be computed.
    tangents: std::result::Result<Tangents<V>, String>,
}

impl<V: Value> Rule<V> for Dual<V> {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }

    fn backward(&self, cx: &mut Context<'_, V>) -> Result<()> {
        for k in 0..cx.outputs() {
            if let Some(g) = cx.take_grad(k) {
                cx.give(k, g)?;
            }
        }
        Ok(())
    }

    fn supports_batch(&self) -> bool {
        true
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

fn dual_of<V: Value>(edge: &Edge<V>) -> Option<&Dual<V>> {
    if !edge.node().flags().has(Flags::DUAL) {
        return None;
    }
    edge.node().rule().as_any()?.downcast_ref()
}

/// A new dual node over these edges.
fn dual_node<V: Value>(dual: Dual<V>, below: Edges<V>) -> NodeRef<V> {
    let outputs = below.len() as u32;
    record_plain(RuleRef::Boxed(Box::new(dual)), below, outputs, 0.0, Flags::DUAL)
}

/// The edge of a value with this tangent; `below` is its own edge.
pub fn dual_edge<V: Value>(below: Option<Edge<V>>, tangent: V, level: u64) -> Edge<V> {
    let dual = Dual { name: MAKE_DUAL.into(), level, tangents: Ok(smallvec![Some(tangent)]) };
    Edge::new(dual_node(dual, smallvec![below]), 0)
}

/// The edge of a value without a history, with this tangent; `name` is the operation that made it.
pub fn dual_of_constant<V: Value>(name: &'static str, tangent: V, level: u64) -> Edge<V> {
    let dual = Dual { name: name.into(), level, tangents: Ok(smallvec![Some(tangent)]) };
    Edge::new(dual_node(dual, smallvec![None]), 0)
}

/// The tangents of operands that have nothing else to record.
pub struct LoneTangents<'a, V, const N: usize> {
    /// The level of all of them.
    pub level: u64,
    /// One for each operand; `None` if it is zero.
    pub tangents: [Option<&'a V>; N],
}

/// The tangents of operands with these edges, if they are of one visible level, and neither operands nor tangents have another
/// history.
pub fn lone_tangents<V: Value, const N: usize>(
    edges: &[Option<Edge<V>>; N],
) -> Option<LoneTangents<'_, V, N>> {
    let mut found = LoneTangents { level: 0, tangents: [None; N] };
    for (edge, tangent) in edges.iter().zip(&mut found.tangents) {
        let Some(edge) = edge else { continue };
        let (dual, k) = (dual_of(edge)?, edge.output() as usize);
        if edge.node().edges()[k].is_some() || (found.level != 0 && found.level != dual.level) {
            return None;
        }
        found.level = dual.level;
        *tangent = dual.tangents.as_ref().ok()?[k].as_ref();
        if tangent.is_some_and(|tangent| tangent.edge().is_some()) {
            return None;
        }
    }
    visible(found.level).map(|_| found)
}

/// The edge without the tangents of this level and of inner ones; level 0 leaves none.
pub fn edge_below<V: Value>(edge: Option<Edge<V>>, level: u64) -> Option<Edge<V>> {
    let mut now = edge;
    while let Some(edge) = &now {
        let Some(dual) = dual_of(edge) else { break };
        if dual.level < level && visible(dual.level).is_some() {
            break;
        }
        now = edge.node().edges()[edge.output() as usize].clone();
    }
    now
}

/// Whether the edge leads to reverse mode, and not to tangents only.
#[inline]
pub fn has_history<V: Value>(edge: &Edge<V>) -> bool {
    dual_of(edge).is_none() || edge_below(Some(edge.clone()), 0).is_some()
}

/// The tangent of a level, if the edge has one.
fn tangent_of<V: Value>(edge: Option<&Edge<V>>, level: u64) -> Result<Option<V>> {
    let mut now = edge;
    while let Some(edge) = now {
        let Some(dual) = dual_of(edge) else { break };
        let k = edge.output() as usize;
        if dual.level == level {
            return match &dual.tangents {
                Ok(tangents) => Ok(tangents[k].clone()),
                Err(why) => Err(Box::new(Error::State {
                    op: "jvp".into(),
                    what: why.clone(),
                    remedy: "compute the derivative with vjp, grad or jacrev instead",
                })),
            };
        }
        now = edge.node().edges()[k].as_ref();
    }
    Ok(None)
}

/// The tangent of a level, if the value has one, and the value's edge below that level.
///
/// # Errors
/// What the rule of an in-place write raised.
pub fn unpack_dual<V: Value>(value: &V, level: u64) -> Result<(Option<V>, Option<Edge<V>>)> {
    let edge = value.edge();
    let tangent = tangent_of(edge.as_ref(), level)?;
    Ok((tangent, edge_below(edge, level)))
}

/// The chain of tangents of live levels above an edge, on another edge; `None` if there are none.
pub fn with_tangents_of<V: Value>(edge: &Edge<V>, bottom: Edge<V>) -> Option<Edge<V>> {
    let dual = dual_of(edge)?;
    let k = edge.output() as usize;
    let below = edge.node().edges()[k].as_ref();
    let below = below.and_then(|below| with_tangents_of(below, bottom.clone()));
    if visible(dual.level).is_none() {
        return below;
    }
    let tangents = match &dual.tangents {
        Ok(tangents) => Ok(smallvec![tangents[k].clone()]),
        Err(why) => Err(why.clone()),
    };
    let same = Dual { name: dual.name.clone(), level: dual.level, tangents };
    Some(Edge::new(dual_node(same, smallvec![Some(below.unwrap_or(bottom))]), 0))
}

/// The edge that an operation records in the mode of the thread: with recording off, one with tangents of a live level only.
#[inline]
pub fn admitted<V: Value>(edge: Option<Edge<V>>) -> Option<Edge<V>> {
    if Mode::current().has(GRAD) {
        return edge;
    }
    edge.filter(has_live_tangent)
}

#[cold]
fn has_live_tangent<V: Value>(edge: &Edge<V>) -> bool {
    let mut levels = Levels::new();
    collect_levels(edge, &mut levels);
    !levels.is_empty()
}

/// Adds the live levels whose tangents the edge has.
fn collect_levels<V: Value>(edge: &Edge<V>, levels: &mut Levels) {
    let mut now = Some(edge);
    while let Some(edge) = now {
        let Some(dual) = dual_of(edge) else { break };
        if let Some(level) = visible(dual.level).filter(|level| !levels.contains(level)) {
            levels.push(level);
        }
        now = edge.node().edges()[edge.output() as usize].as_ref();
    }
}

/// The node for the outputs of an operation: the operation's own, or one that also carries the tangents of the outputs if an
/// input has some.
///
/// # Errors
/// What the rule raises.
#[inline]
pub fn with_tangents<V: Value>(node: NodeRef<V>, outputs: &[V]) -> Result<NodeRef<V>> {
    let mode = Mode::current();
    if LAST_SERIAL.load(Ordering::Relaxed) != 0 {
        refuse_foreign(&node, mode)?;
    }
    if mode.has(DUAL) { push_levels(node, mode, outputs, Err) } else { Ok(node) }
}

/// Refuses an operation on a tensor with a tangent of a level that this thread is not in: one that has ended, in a transform,
/// and one of another thread. The derivative through it would be missing. Saved values never lead to an ended one, see
/// `without_ended`.
#[inline]
fn refuse_foreign<V: Value>(node: &NodeRef<V>, mode: Mode) -> Result<()> {
    match node.edges().iter().flatten().find(|edge| is_ended(edge)) {
        Some(edge) => foreign_error(node, edge, mode),
        None => Ok(()),
    }
}

#[cold]
fn foreign_error<V: Value>(node: &NodeRef<V>, edge: &Edge<V>, mode: Mode) -> Result<()> {
    if dual_of(edge).is_some_and(|dual| LIVE.lock().contains(&dual.level)) {
        return Err(Box::new(Error::State {
            op: node.name(),
            what: "a tensor with a tangent is used on another thread than the one that computes the derivative".into(),
            remedy: "compute on that thread, or pass x.detach() where a constant is meant",
        }));
    }
    if mode.0 & (DUAL | TRANSFORM) == 0 {
        return Ok(());
    }
    Err(Box::new(Error::KeptTangent { op: node.name(), what: describe_kept(edge) }))
}

#[cold]
fn describe_kept<V: Value>(edge: &Edge<V>) -> String {
    let (made_by, k) = (edge.node(), edge.output() as usize);
    let tangents = dual_of(edge).and_then(|dual| dual.tangents.as_ref().ok());
    let tangent = tangents.and_then(|tangents| tangents.get(k)?.as_ref());
    let value = tangent.map_or_else(|| "value".to_owned(), V::describe);
    let site = made_by.attachments().and_then(|attachments| attachments.call_site());
    let site = site.map(|site| format!(" at {},", innermost_line(&site).trim()));
    match &*made_by.name() {
        MAKE_DUAL => format!("an argument{}, kept", value.trim_start_matches("tensor")),
        name => format!("a {value} that {name} made{}", site.unwrap_or_default()),
    }
}

/// As `with_tangents`, for a node that is made where no error can be raised: the first reader of a tangent raises it. The
/// rule has a JVP of its own.
#[inline]
pub fn with_tangents_or_error<V: Value>(node: NodeRef<V>) -> NodeRef<V> {
    let mode = Mode::current();
    if !mode.has(DUAL) {
        return node;
    }
    let own = node.clone();
    push_levels(node, mode, &[], |error| Ok(Err(error.to_string()))).unwrap_or(own)
}

/// What becomes of an error: it is raised, or held by the dual node.
type Failed<V> = fn(Box<Error>) -> Result<std::result::Result<Tangents<V>, String>>;

#[cold]
#[inline(never)]
fn push_levels<V: Value>(
    node: NodeRef<V>,
    mode: Mode,
    outputs: &[V],
    failed: Failed<V>,
) -> Result<NodeRef<V>> {
    let mut levels = Levels::new();
    node.edges().iter().flatten().for_each(|edge| collect_levels(edge, &mut levels));
    if levels.is_empty() {
        return Ok(node);
    }
    levels.sort_unstable_by_key(|level| level.serial);
    let recorded = mode.has(GRAD) && node.edges().iter().flatten().any(has_history::<V>);
    let edges_to = |node: &NodeRef<V>| -> Edges<V> {
        (0..node.outputs()).map(|k| Some(Edge::new(node.clone(), k))).collect()
    };
    let mut edges =
        if recorded { edges_to(&node) } else { (0..node.outputs()).map(|_| None).collect() };
    let mut top = node.clone();
    let mut duals: SmallVec<[NodeId<V>; 2]> = SmallVec::new();
    for level in levels {
        // Whether tangents are recorded must not change the numbers of other nodes, which decide on the order of sums.
        let seq = last_seq();
        let pushed = push(&node, level, &edges, outputs);
        set_last_seq(seq);
        let tangents = match pushed {
            Ok(tangents) => Ok(tangents),
            Err(error) => failed(error)?,
        };
        top = dual_node(Dual { name: node.static_name(), level: level.serial, tangents }, edges);
        edges = edges_to(&top);
        duals.push(top.id());
    }
    if recorded {
        node.attachments_or_new().set_duals(duals.into_vec().into());
    }
    Ok(top)
}

/// Hides the levels from one on until it is dropped.
struct HideLevels {
    before: u64,
}

impl HideLevels {
    fn from(level: Level) -> HideLevels {
        HideLevels { before: HIDDEN_FROM.replace(level.serial) }
    }
}

impl Drop for HideLevels {
    fn drop(&mut self) {
        HIDDEN_FROM.set(self.before);
    }
}

/// Whether a level is the outermost one of this thread.
fn is_outermost(level: Level) -> bool {
    LEVELS.with_borrow(|levels| levels.iter().all(|other| other.serial >= level.serial))
}

/// Sums what a rule gives, by target.
struct Sums<V>(Tangents<V>);

impl<V: Value> InputGrads<V> for Sums<V> {
    fn give(&mut self, _input: usize, target: u32, v: V) -> Result<()> {
        let sum = &mut self.0[target as usize];
        *sum = Some(match sum.take() {
            Some(sum) => V::accumulate(sum, &v)?,
            None => v,
        });
        Ok(())
    }
}

/// The tangents of the node's outputs at a level; `edges` are those of the outputs below it.
fn push<V: Value>(
    node: &NodeRef<V>,
    level: Level,
    edges: &Edges<V>,
    outputs: &[V],
) -> Result<Tangents<V>> {
    let tangents = || -> Result<SmallVec<[Option<V>; 2]>> {
        node.edges().iter().map(|edge| tangent_of(edge.as_ref(), level.serial)).collect()
    };
    let _hidden = HideLevels::from(level);
    let is_outermost = is_outermost(level);
    let mode = Mode::current().with(DUAL, !is_outermost).with(GRAD, level.records);
    let _mode = ModeGuard::new(mode);
    let recorded = !is_outermost || level.records;
    let saved_edges = match recorded {
        true => SavedEdges::Below { level: level.serial, outputs: edges },
        false => SavedEdges::Absent,
    };
    let saved = node.saved.enter(false).ok_or_else(freed_error)?;
    let targets: SmallVec<[u32; 2]> = (0..node.outputs()).collect();
    let mut sums = Sums(targets.iter().map(|_| None).collect());
    let mut given = tangents()?;
    let cx = Context::new(node.borrow(), &mut given, saved.values(), &targets, &mut sums, recorded);
    let cx = cx.with_saved_edges(saved_edges).with_batch(level.columns).with_outputs(outputs);
    if node.rule().jvp(&mut { cx })? {
        return Ok(sums.0);
    }
    let vjp = |grads: &mut [Option<V>], targets: &[u32], pulled: &mut Sums<V>| {
        let cx = Context::new(node.borrow(), grads, saved.values(), targets, pulled, true);
        node.rule().backward(&mut cx.with_saved_edges(saved_edges))
    };
    push_transposed(node, &vjp, (recorded, level.columns), tangents()?, outputs)
}

/// Calls the VJP of a node with gradients of outputs and the targets of inputs.
type Vjp<'a, V> = dyn Fn(&mut [Option<V>], &[u32], &mut Sums<V>) -> Result<()> + 'a;

/// The tangents of outputs by the transpose of the VJP: the VJP is linear in the gradients of outputs, so that its own VJP
/// maps tangents of inputs to tangents of outputs.
fn push_transposed<V: Value>(
    node: &NodeRef<V>,
    vjp: &Vjp<'_, V>,
    (recorded, columns): (bool, Option<usize>),
    tangents: SmallVec<[Option<V>; 2]>,
    outputs: &[V],
) -> Result<Tangents<V>> {
    if outputs.len() < node.outputs() as usize {
        return Err(no_jvp_error(node));
    }
    let zeros: Vec<Option<V>> = outputs.iter().map(V::zero_leaf).collect::<Result<_>>()?;
    let numbered = tangents.iter().enumerate();
    let targets: SmallVec<[u32; 2]> =
        numbered.map(|(i, t)| if t.is_some() { i as u32 } else { NO_TARGET }).collect();
    let mut pulled = Sums(tangents.iter().map(|_| None).collect());
    {
        let _recorded = ModeGuard::grad(true);
        vjp(&mut zeros.clone(), &targets, &mut pulled)?;
    }
    let pairs = pulled.0.iter().zip(tangents);
    let roots: Vec<(Edge<V>, V)> =
        pairs.filter_map(|(pulled, t)| Some((pulled.as_ref()?.edge()?, t?))).collect();
    if roots.is_empty() {
        return Ok(outputs.iter().map(|_| None).collect());
    }
    let ends: Vec<Edge<V>> = zeros.iter().flatten().filter_map(V::edge).collect();
    let mut found = pull_columns(roots, &ends, recorded, columns)?.into_iter();
    Ok(zeros.iter().map(|zero| zero.as_ref().and_then(|_| found.next().flatten())).collect())
}

/// A pass of the tangents through a recorded VJP: of all columns at once, or of one after the other where a mode must see
/// each.
fn pull_columns<V: Value>(
    roots: Vec<(Edge<V>, V)>,
    ends: &[Edge<V>],
    recorded: bool,
    columns: Option<usize>,
) -> Result<Vec<Option<V>>> {
    let pass = |roots: Vec<(Edge<V>, V)>, retain_graph: bool| Pass {
        roots,
        targets: Targets::Capture(ends.to_vec()),
        since: NestedStart::default(),
        retain_graph,
        create_graph: Mode::current().has(GRAD),
        host: &NoHost,
        threads: 1,
    };
    let Some(columns) = columns else { return pass(roots, recorded).run() };
    if let Some(found) = pass(roots.clone(), true).run_batch(columns)? {
        return Ok(found);
    }
    let mut rows: Vec<Vec<Option<V>>> = ends.iter().map(|_| Vec::new()).collect();
    for k in 0..columns {
        let row = |(edge, tangent): &(Edge<V>, V)| Ok((edge.clone(), tangent.row(k)?));
        let found = pass(roots.iter().map(row).collect::<Result<_>>()?, true).run()?;
        rows.iter_mut().zip(found).for_each(|(rows, found)| rows.push(found));
    }
    rows.into_iter().map(V::batched).collect()
}

#[cold]
fn freed_error() -> Box<Error> {
    Box::new(Error::Internal {
        op: "jvp".into(),
        what: "the saved values of a new node are in use".into(),
    })
}

#[cold]
fn no_jvp_error<V: Value>(node: &NodeRef<V>) -> Box<Error> {
    Box::new(Error::Internal { op: node.name(), what: "the rule has no JVP".into() })
}

/// The innermost node over a node that has tangents of its outputs. Whoever reaches the node came through those of the levels
/// that its reader is in, so they live.
pub(super) fn dual_over<V: Value>(node: &Node<V>) -> Option<NodeRef<V>> {
    node.attachments()?.duals().iter().rev().find_map(NodeId::upgrade)
}

/// The edge without tangents of ended levels on top.
pub(super) fn without_ended<V: Value>(edge: Option<Edge<V>>) -> Option<Edge<V>> {
    let mut now = edge;
    while let Some(edge) = &now
        && is_ended(edge)
    {
        now = edge.node().edges()[edge.output() as usize].clone();
    }
    now
}

/// Whether the edge has a tangent of an ended level on top.
fn is_ended<V: Value>(edge: &Edge<V>) -> bool {
    dual_of(edge).is_some_and(|dual| has_ended(dual.level))
}
