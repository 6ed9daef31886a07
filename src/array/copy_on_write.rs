//! Copy on write for saved values.
//!
//! A saved value is a version of some elements. Before a write, the elements that some value saved since their last copy
//! are copied once (`plan`, then `add_copies`); a write to other elements copies nothing. To restore a value of version `v`,
//! each element is taken from its first copy of version `v` or later, or from the memory if there is none (`copies_since`).
//! A bit set and a map from pages to copies make both steps independent of values saved elsewhere in the memory.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::Storage;
use super::bitset::BitSet;
use super::hash::FastMap;
use super::strided_set::StridedSet;

/// Positions per page of the map.
const PAGE_POSITIONS: usize = 64;
/// Sets that touch more pages are kept in a list instead of the map.
const MAX_MAP_PAGES: usize = 1 << 12;
/// Longer lists of saved sets become bits.
const MAX_LISTED_SETS: usize = 32;
/// The number of copies from which on unneeded copies are looked for.
const PRUNE_FROM: usize = 64;

/// A copy of elements.
pub struct Snapshot {
    /// The positions of the elements.
    pub positions: StridedSet,
    /// The last version of the memory with these values.
    pub version: u32,
    /// The elements, contiguous.
    pub data: Storage,
}

/// The copies of one set of positions, by ascending version.
struct Series {
    positions: StridedSet,
    copies: Vec<(u32, Storage)>,
}

/// The saved values of one memory, and the copies made for them.
pub(super) struct Snapshots {
    /// Bytes per position.
    unit: usize,
    /// The number of positions.
    len: usize,
    /// Positions that a value saved since they were last copied.
    uncopied: PositionSet,
    /// Number of saved values per version; values saved before this struct was made are not counted.
    saved: VersionCounts,
    /// Uncounted values (saved before this struct was made) have this version or an earlier one.
    uncounted: u32,
    /// Values of this version or an earlier one cannot be restored: a write kept no copies.
    lost: Option<u32>,
    series: Vec<Series>,
    by_positions: FastMap<StridedSet, u32>,
    by_page: FastMap<usize, SmallVec<[u32; 2]>>,
    /// Series that touch too many pages for the map.
    wide: Vec<u32>,
    copies: usize,
    /// The number of copies at which the next search for unneeded ones is due.
    prune_at: usize,
}

impl Snapshots {
    /// For a memory of `nbytes` bytes, with `unit` bytes per position.
    pub(super) fn new(nbytes: usize, unit: usize) -> Snapshots {
        let len = nbytes.div_ceil(unit);
        Snapshots {
            unit,
            len,
            uncopied: PositionSet::List(Vec::new()),
            saved: VersionCounts::default(),
            uncounted: 0,
            lost: None,
            series: Vec::new(),
            by_positions: FastMap::default(),
            by_page: FastMap::default(),
            wide: Vec::new(),
            copies: 0,
            prune_at: PRUNE_FROM,
        }
    }

    /// Bytes per position.
    pub(super) fn unit(&self) -> usize {
        self.unit
    }

    /// Switches to positions of `unit` bytes, if they are finer.
    pub(super) fn refine(&mut self, unit: usize) {
        if unit >= self.unit || !self.unit.is_multiple_of(unit) {
            return;
        }
        let k = self.unit / unit;
        self.uncopied = match std::mem::take(&mut self.uncopied) {
            PositionSet::List(sets) => {
                PositionSet::List(sets.iter().map(|set| set.refined(k)).collect())
            }
            PositionSet::Set(bits) => PositionSet::Set(bits.refined(self.len, k)),
        };
        (self.unit, self.len) = (unit, self.len * k);
        let series = std::mem::take(&mut self.series);
        self.by_positions.clear();
        self.by_page.clear();
        self.wide.clear();
        for Series { positions, copies } in series {
            let at = self.series_of(&positions.refined(k));
            self.series[at].copies.extend(copies);
        }
    }

    /// Whether no saved value is left; `uncounted` is the number of values saved before this struct was made.
    pub(super) fn is_unused(&self, uncounted: u32) -> bool {
        self.saved.all == 0 && uncounted == 0
    }

    /// Counts a value saved in this version.
    pub(super) fn save(&mut self, positions: &StridedSet, version: u32) {
        self.uncopied.add(positions, self.len);
        self.saved.add(version);
    }

    /// Uncounted values may have saved these bytes, up to this version.
    pub(super) fn save_uncounted(&mut self, (start, end): (usize, usize), version: u32) {
        let first = start / self.unit;
        let run = StridedSet::run(first, end.div_ceil(self.unit) - first);
        self.uncopied.add(&run, self.len);
        self.uncounted = version;
    }

    /// Counts one more value that saved the same positions in this version.
    pub(super) fn save_again(&mut self, version: u32) {
        self.saved.add(version);
    }

    /// Uncounts a dropped value of this version.
    pub(super) fn forget(&mut self, version: u32) {
        self.saved.remove(version);
    }

    /// Drops all copies and all saved positions.
    #[must_use = "to be dropped without the lock"]
    pub(super) fn clear(&mut self) -> Vec<Storage> {
        self.uncopied = PositionSet::List(Vec::new());
        if self.series.is_empty() {
            return Vec::new();
        }
        self.by_positions.clear();
        self.by_page.clear();
        self.wide.clear();
        (self.copies, self.prune_at) = (0, PRUNE_FROM);
        let series = std::mem::take(&mut self.series);
        series.into_iter().flat_map(|one| one.copies).map(|(_, data)| data).collect()
    }

    /// Notes a write without copies: values saved until `version` are lost. Returns their copies.
    #[must_use = "to be dropped without the lock"]
    pub(super) fn invalidate(&mut self, version: u32) -> Vec<Storage> {
        self.lost = Some(version);
        self.clear()
    }

    /// The positions to copy before a write to `written`; from now on they count as copied.
    pub(super) fn plan(&mut self, written: &StridedSet) -> Vec<StridedSet> {
        let mut runs = Vec::new();
        if !self.uncopied.is_empty() {
            let bits = self.uncopied.bits(self.len);
            written.for_each_run(|start, len| bits.append_set_runs(start, len, &mut runs));
            runs.iter().for_each(|&(start, len)| bits.clear(start, len));
        }
        let count: usize = runs.iter().map(|(_, len)| len).sum();
        if count == 0 {
            return Vec::new();
        }
        if count == written.len() {
            return vec![written.clone()];
        }
        let sets = StridedSet::from_runs(&runs);
        // Many irregular sets cost more than copying the elements between them as well.
        if sets.len() * 8 > written.len() { vec![written.clone()] } else { sets }
    }

    /// Undoes `plan` when the copies could not be made.
    pub(super) fn cancel_plan(&mut self, positions: &[StridedSet]) {
        positions.iter().for_each(|set| self.uncopied.add(set, self.len));
    }

    /// Adds copies of `version`; returns copies that no saved value needs any more. `uncounted`: whether uncounted values
    /// are left.
    #[must_use = "to be dropped without the lock"]
    pub(super) fn add_copies(
        &mut self,
        version: u32,
        made: Vec<(StridedSet, Storage)>,
        uncounted: bool,
    ) -> Vec<Storage> {
        for (positions, data) in made {
            let at = self.series_of(&positions);
            self.series[at].copies.push((version, data));
            self.copies += 1;
        }
        if self.copies < self.prune_at {
            return Vec::new();
        }
        let gone = self.take_unneeded(uncounted);
        self.copies -= gone.len();
        self.prune_at = 2 * self.copies + PRUNE_FROM;
        gone
    }

    /// Removes the copies that no saved value needs: no value was saved between the previous copy's version and this one's.
    fn take_unneeded(&mut self, uncounted: bool) -> Vec<Storage> {
        let (saved, until) = (&self.saved, self.uncounted);
        let mut gone = Vec::new();
        for series in &mut self.series {
            let mut before: Option<u32> = None;
            for (version, data) in std::mem::take(&mut series.copies) {
                let first = before.map_or(0, |before| before + 1);
                let needed = (uncounted && first <= until) || saved.any_in(first, version);
                if needed {
                    series.copies.push((version, data));
                    before = Some(version);
                } else {
                    gone.push(data);
                }
            }
        }
        gone
    }

    /// The index of the series of these positions, added if there is none.
    fn series_of(&mut self, positions: &StridedSet) -> usize {
        if let Some(&at) = self.by_positions.get(positions) {
            return at as usize;
        }
        let at = self.series.len();
        self.series.push(Series { positions: positions.clone(), copies: Vec::new() });
        self.by_positions.insert(positions.clone(), at as u32);
        match pages(positions) {
            Some(pages) => {
                for page in pages {
                    self.by_page.entry(page).or_default().push(at as u32);
                }
            }
            None => self.wide.push(at as u32),
        }
        at
    }

    /// Whether values of this version cannot be restored.
    pub(super) fn is_lost(&self, version: u32) -> bool {
        self.lost.is_some_and(|lost| version <= lost)
    }

    /// The copies that overlap `positions` and are of `version` or later: the first such copy of each series, the latest first.
    /// Written over the current memory in this order, they give the elements of `version`.
    pub(super) fn copies_since(&self, positions: &StridedSet, version: u32) -> Vec<Snapshot> {
        let found: Vec<u32> = match pages(positions) {
            Some(pages) if pages.len() < self.series.len() => {
                let near = pages.iter().filter_map(|page| self.by_page.get(page));
                let mut found: Vec<u32> = near.flatten().chain(&self.wide).copied().collect();
                found.sort_unstable();
                found.dedup();
                found
            }
            _ => (0..self.series.len() as u32).collect(),
        };
        let (low, high) = positions.extent();
        let mut all: Vec<Snapshot> = Vec::new();
        for at in found {
            let series = &self.series[at as usize];
            let (first, last) = series.positions.extent();
            let k = series.copies.partition_point(|(made, _)| *made < version);
            if first < high
                && low < last
                && let Some((version, data)) = series.copies.get(k)
            {
                let (positions, data) = (series.positions.clone(), data.clone());
                all.push(Snapshot { positions, version: *version, data });
            }
        }
        all.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.version));
        all
    }
}

/// How many values were saved in each version, ascending; versions without values may be left out.
#[derive(Default)]
struct VersionCounts {
    versions: VecDeque<(u32, u32)>,
    all: u64,
}

impl VersionCounts {
    fn find(&self, version: u32) -> Result<usize, usize> {
        self.versions.binary_search_by_key(&version, |&(version, _)| version)
    }

    /// Counts a value; usually of the latest version.
    fn add(&mut self, version: u32) {
        self.all += 1;
        match self.versions.back_mut() {
            Some((last, count)) if *last == version => *count += 1,
            Some((last, _)) if *last > version => match self.find(version) {
                Ok(at) => self.versions[at].1 += 1,
                Err(at) => self.versions.insert(at, (version, 1)),
            },
            _ => self.versions.push_back((version, 1)),
        }
    }

    fn remove(&mut self, version: u32) {
        let Ok(at) = self.find(version) else { return };
        self.all -= 1;
        self.versions[at].1 -= 1;
        while self.versions.back().is_some_and(|(_, count)| *count == 0) {
            self.versions.pop_back();
        }
        while self.versions.front().is_some_and(|(_, count)| *count == 0) {
            self.versions.pop_front();
        }
    }

    /// Whether any value has a version in `first..=last`.
    fn any_in(&self, first: u32, last: u32) -> bool {
        let from = self.versions.partition_point(|&(version, _)| version < first);
        let near = self.versions.range(from..);
        near.take_while(|(version, _)| *version <= last).any(|(_, count)| *count > 0)
    }
}

/// A set of positions: a list of strided sets, or bits when the list would be long.
enum PositionSet {
    /// A set is not repeated directly.
    List(Vec<StridedSet>),
    Set(BitSet),
}

impl Default for PositionSet {
    fn default() -> PositionSet {
        PositionSet::List(Vec::new())
    }
}

impl PositionSet {
    fn is_empty(&self) -> bool {
        matches!(self, PositionSet::List(sets) if sets.is_empty())
    }

    /// Converts to bits over `len` positions.
    fn bits(&mut self, len: usize) -> &mut BitSet {
        if let PositionSet::List(sets) = self {
            let mut bits = BitSet::new(len, false);
            sets.iter().for_each(|set| set.for_each_run(|start, n| bits.set(start, n)));
            *self = PositionSet::Set(bits);
        }
        match self {
            PositionSet::Set(bits) => bits,
            PositionSet::List(_) => unreachable!("they are bits now"),
        }
    }

    fn add(&mut self, positions: &StridedSet, len: usize) {
        match self {
            PositionSet::List(sets) if sets.last() == Some(positions) => {}
            PositionSet::List(sets) if sets.len() < MAX_LISTED_SETS => sets.push(positions.clone()),
            _ => {
                let bits = self.bits(len);
                positions.for_each_run(|start, n| bits.set(start, n));
            }
        }
    }
}

/// The pages that the positions touch, if not too many.
fn pages(positions: &StridedSet) -> Option<Vec<usize>> {
    if positions.len() > MAX_MAP_PAGES * PAGE_POSITIONS {
        return None;
    }
    let mut found: Vec<usize> = Vec::new();
    positions.for_each_run(|start, len| {
        let (first, last) = (start / PAGE_POSITIONS, (start + len.max(1) - 1) / PAGE_POSITIONS);
        let next = found.last().map_or(first, |&last| first.max(last + 1));
        found.extend(next..=last);
    });
    (found.len() <= MAX_MAP_PAGES).then_some(found)
}
