//! Copy on write of what saved values need: elements as they were before they were overwritten.
//!
//! A saved value is a version of some elements. Before a write, those elements that some value saved since they were last
//! copied are copied once (`plan`, then `keep`); a write to other elements copies nothing. To restore a value of version `v`,
//! each element is taken from its first copy of version `v` or later, and from the memory where there is none (`since`).
//! The memory is looked at through bits and a map of its pages, so that neither step looks at values saved elsewhere in it.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::Storage;
use super::bitset::BitSet;
use super::hash::FastMap;
use super::strided_set::StridedSet;

/// Positions to a page of the map.
const PAGE: usize = 64;
/// Sets of more pages are not in the map but in a list.
const MOST_PAGES: usize = 1 << 12;
/// Sets of wanted elements that are listed.
const MOST_SETS: usize = 32;
/// Copies that are kept before it is asked which of them nobody needs.
const ENOUGH: usize = 64;

/// A copy of elements: the version of the memory that it was made in, and the elements without gaps.
pub struct Snapshot {
    /// Which elements.
    pub places: StridedSet,
    /// The last version of the memory in which they were so.
    pub version: u32,
    /// The elements.
    pub data: Storage,
}

/// The copies of one set of elements, in the order of their versions.
struct Series {
    places: StridedSet,
    copies: Vec<(u32, Storage)>,
}

/// What is known of the saved values of one memory, and the copies made for them.
pub(super) struct Snapshots {
    /// Bytes to a position.
    unit: usize,
    /// How many positions there are.
    len: usize,
    /// Elements that a value saved since they were last copied: a list, or bits where it would be long.
    wanted: Wanted,
    /// The saved values; those that were saved before this was made are not among them.
    saved: Saved,
    /// The version up to which there may be values that were saved before this was made.
    uncounted: u32,
    /// Values of this version or an earlier one are lost: a write said that nothing is to be kept.
    lost: Option<u32>,
    series: Vec<Series>,
    by_places: FastMap<StridedSet, u32>,
    by_page: FastMap<usize, SmallVec<[u32; 2]>>,
    /// Series of many pages.
    wide: Vec<u32>,
    copies: usize,
    /// At how many copies the next look for useless ones is due.
    due: usize,
}

impl Snapshots {
    /// Of a memory of `nbytes` bytes, whose positions count `unit` bytes.
    pub(super) fn new(nbytes: usize, unit: usize) -> Snapshots {
        let len = nbytes.div_ceil(unit);
        Snapshots {
            unit,
            len,
            wanted: Wanted::List(Vec::new()),
            saved: Saved::default(),
            uncounted: 0,
            lost: None,
            series: Vec::new(),
            by_places: FastMap::default(),
            by_page: FastMap::default(),
            wide: Vec::new(),
            copies: 0,
            due: ENOUGH,
        }
    }

    /// Bytes to a position.
    pub(super) fn unit(&self) -> usize {
        self.unit
    }

    /// Makes positions as short as these units, if they are longer.
    pub(super) fn refine(&mut self, unit: usize) {
        if unit >= self.unit || !self.unit.is_multiple_of(unit) {
            return;
        }
        let k = self.unit / unit;
        self.wanted = match std::mem::take(&mut self.wanted) {
            Wanted::List(sets) => Wanted::List(sets.iter().map(|set| set.refined(k)).collect()),
            Wanted::Set(bits) => Wanted::Set(bits.refined(self.len, k)),
        };
        (self.unit, self.len) = (unit, self.len * k);
        let series = std::mem::take(&mut self.series);
        self.by_places.clear();
        self.by_page.clear();
        self.wide.clear();
        for Series { places, copies } in series {
            let at = self.series_of(&places.refined(k));
            self.series[at].copies.extend(copies);
        }
    }

    /// Whether nobody can need anything of this, with so many values that were saved before this was made.
    pub(super) fn is_unused(&self, uncounted: u32) -> bool {
        self.saved.all == 0 && uncounted == 0
    }

    /// Takes note of a value that is saved in this version.
    pub(super) fn save(&mut self, places: &StridedSet, version: u32) {
        self.wanted.add(places, self.len);
        self.saved.add(version);
    }

    /// Values that are counted elsewhere may have saved these bytes up to this version.
    pub(super) fn save_uncounted(&mut self, (start, end): (usize, usize), version: u32) {
        let first = start / self.unit;
        let run = StridedSet::run(first, end.div_ceil(self.unit) - first);
        self.wanted.add(&run, self.len);
        self.uncounted = version;
    }

    /// Counts one more value that was saved in this version.
    pub(super) fn save_again(&mut self, version: u32) {
        self.saved.add(version);
    }

    /// Takes note that a value that was saved in this version is gone.
    pub(super) fn forget(&mut self, version: u32) {
        self.saved.remove(version);
    }

    /// Forgets all copies, and that anything is wanted.
    #[must_use = "to be dropped without the lock"]
    pub(super) fn clear(&mut self) -> Vec<Storage> {
        self.wanted = Wanted::List(Vec::new());
        if self.series.is_empty() {
            return Vec::new();
        }
        self.by_places.clear();
        self.by_page.clear();
        self.wide.clear();
        (self.copies, self.due) = (0, ENOUGH);
        let series = std::mem::take(&mut self.series);
        series.into_iter().flat_map(|one| one.copies).map(|(_, data)| data).collect()
    }

    /// Takes note of a write before which nothing is kept: values saved until then are lost. Gives back what was kept for them.
    #[must_use = "to be dropped without the lock"]
    pub(super) fn lose(&mut self, version: u32) -> Vec<Storage> {
        self.lost = Some(version);
        self.clear()
    }

    /// What has to be copied before a write to these positions. They count as copied from now on.
    pub(super) fn plan(&mut self, written: &StridedSet) -> Vec<StridedSet> {
        let mut runs = Vec::new();
        if !self.wanted.is_empty() {
            let bits = self.wanted.bits(self.len);
            written.runs(|start, len| bits.runs_set(start, len, &mut runs));
            runs.iter().for_each(|&(start, len)| bits.clear(start, len));
        }
        let count: usize = runs.iter().map(|(_, len)| len).sum();
        if count == 0 {
            return Vec::new();
        }
        if count == written.len() {
            return vec![written.clone()];
        }
        let sets = StridedSet::grouped(&runs);
        // Sets that follow no pattern cost more than the elements between them.
        if sets.len() * 8 > written.len() { vec![written.clone()] } else { sets }
    }

    /// Takes a plan back whose copies could not be made.
    pub(super) fn unplan(&mut self, places: &[StridedSet]) {
        places.iter().for_each(|set| self.wanted.add(set, self.len));
    }

    /// Adds copies that were made in this version; gives back those that nobody needs any more. `uncounted` says whether there
    /// are values that were saved before this was made.
    #[must_use = "to be dropped without the lock"]
    pub(super) fn keep(
        &mut self,
        version: u32,
        made: Vec<(StridedSet, Storage)>,
        uncounted: bool,
    ) -> Vec<Storage> {
        for (places, data) in made {
            let at = self.series_of(&places);
            self.series[at].copies.push((version, data));
            self.copies += 1;
        }
        if self.copies < self.due {
            return Vec::new();
        }
        let gone = self.useless(uncounted);
        self.copies -= gone.len();
        self.due = 2 * self.copies + ENOUGH;
        gone
    }

    /// Takes the copies out that no saved value is of: those between whose version and that of the copy before none was
    /// saved.
    fn useless(&mut self, uncounted: bool) -> Vec<Storage> {
        let (saved, until) = (&self.saved, self.uncounted);
        let mut gone = Vec::new();
        for series in &mut self.series {
            let mut before: Option<u32> = None;
            for (version, data) in std::mem::take(&mut series.copies) {
                let first = before.map_or(0, |before| before + 1);
                let needed = (uncounted && first <= until) || saved.has(first, version);
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

    /// The number of the series of these positions, a new one if there is none.
    fn series_of(&mut self, places: &StridedSet) -> usize {
        if let Some(&at) = self.by_places.get(places) {
            return at as usize;
        }
        let at = self.series.len();
        self.series.push(Series { places: places.clone(), copies: Vec::new() });
        self.by_places.insert(places.clone(), at as u32);
        match pages(places) {
            Some(pages) => {
                for page in pages {
                    self.by_page.entry(page).or_default().push(at as u32);
                }
            }
            None => self.wide.push(at as u32),
        }
        at
    }

    /// Whether values of this version are lost.
    pub(super) fn is_lost(&self, version: u32) -> bool {
        self.lost.is_some_and(|lost| version <= lost)
    }

    /// The copies of elements among these that are of this version or were made later: the first of each series, the latest
    /// first. Whoever lays them one over the other has the elements of the version.
    pub(super) fn since(&self, places: &StridedSet, version: u32) -> Vec<Snapshot> {
        let found: Vec<u32> = match pages(places) {
            Some(pages) if pages.len() < self.series.len() => {
                let near = pages.iter().filter_map(|page| self.by_page.get(page));
                let mut found: Vec<u32> = near.flatten().chain(&self.wide).copied().collect();
                found.sort_unstable();
                found.dedup();
                found
            }
            _ => (0..self.series.len() as u32).collect(),
        };
        let (low, high) = places.extent();
        let mut all: Vec<Snapshot> = Vec::new();
        for at in found {
            let series = &self.series[at as usize];
            let (first, last) = series.places.extent();
            let k = series.copies.partition_point(|(made, _)| *made < version);
            if first < high
                && low < last
                && let Some((version, data)) = series.copies.get(k)
            {
                let (places, data) = (series.places.clone(), data.clone());
                all.push(Snapshot { places, version: *version, data });
            }
        }
        all.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.version));
        all
    }
}

/// How many values were saved in each version, in ascending order; versions in between have none.
#[derive(Default)]
struct Saved {
    versions: VecDeque<(u32, u32)>,
    all: u64,
}

impl Saved {
    fn place(&self, version: u32) -> Result<usize, usize> {
        self.versions.binary_search_by_key(&version, |&(version, _)| version)
    }

    /// Counts a value; most are of the latest version.
    fn add(&mut self, version: u32) {
        self.all += 1;
        match self.versions.back_mut() {
            Some((last, count)) if *last == version => *count += 1,
            Some((last, _)) if *last > version => match self.place(version) {
                Ok(at) => self.versions[at].1 += 1,
                Err(at) => self.versions.insert(at, (version, 1)),
            },
            _ => self.versions.push_back((version, 1)),
        }
    }

    fn remove(&mut self, version: u32) {
        let Ok(at) = self.place(version) else { return };
        self.all -= 1;
        self.versions[at].1 -= 1;
        while self.versions.back().is_some_and(|(_, count)| *count == 0) {
            self.versions.pop_back();
        }
        while self.versions.front().is_some_and(|(_, count)| *count == 0) {
            self.versions.pop_front();
        }
    }

    /// Whether there is a value of one of these versions.
    fn has(&self, first: u32, last: u32) -> bool {
        let from = self.versions.partition_point(|&(version, _)| version < first);
        let near = self.versions.range(from..);
        near.take_while(|(version, _)| *version <= last).any(|(_, count)| *count > 0)
    }
}

/// Positions that are wanted.
enum Wanted {
    /// The same set is not listed twice in a row.
    List(Vec<StridedSet>),
    Set(BitSet),
}

impl Default for Wanted {
    fn default() -> Wanted {
        Wanted::List(Vec::new())
    }
}

impl Wanted {
    fn is_empty(&self) -> bool {
        matches!(self, Wanted::List(sets) if sets.is_empty())
    }

    /// The bits of a memory of `len` positions.
    fn bits(&mut self, len: usize) -> &mut BitSet {
        if let Wanted::List(sets) = self {
            let mut bits = BitSet::new(len, false);
            sets.iter().for_each(|set| set.runs(|start, n| bits.set(start, n)));
            *self = Wanted::Set(bits);
        }
        match self {
            Wanted::Set(bits) => bits,
            Wanted::List(_) => unreachable!("they are bits now"),
        }
    }

    fn add(&mut self, places: &StridedSet, len: usize) {
        match self {
            Wanted::List(sets) if sets.last() == Some(places) => {}
            Wanted::List(sets) if sets.len() < MOST_SETS => sets.push(places.clone()),
            _ => {
                let bits = self.bits(len);
                places.runs(|start, n| bits.set(start, n));
            }
        }
    }
}

/// The pages that positions lie in, if they are not too many.
fn pages(places: &StridedSet) -> Option<Vec<usize>> {
    if places.len() > MOST_PAGES * PAGE {
        return None;
    }
    let mut found: Vec<usize> = Vec::new();
    places.runs(|start, len| {
        let (first, last) = (start / PAGE, (start + len.max(1) - 1) / PAGE);
        let next = found.last().map_or(first, |&last| first.max(last + 1));
        found.extend(next..=last);
    });
    (found.len() <= MOST_PAGES).then_some(found)
}
