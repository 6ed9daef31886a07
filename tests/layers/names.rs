//! Names that a reader of PyTorch, JAX, NumPy or compilers can guess: file names are rare, and words that say nothing are refused.

use std::collections::BTreeMap;

use super::text::declared;
use super::{files, report, sources};

/// A file name below `src` may occur so often.
const SAME_FILE_NAME: usize = 2;

/// Words that are no name of a type, a trait, a constant or a module: prepositions, verbs and adjectives without a noun.
const FORBIDDEN: &[&str] = &[
    "Above", "Again", "Around", "At", "Before", "Below", "Beside", "Between", "Beyond", "By",
    "Desk", "Earlier", "Few", "Filled", "Found", "Given", "Gives", "Goes", "Gone", "Handover",
    "Head", "Holds", "Kept", "Late", "Least", "Left", "Lent", "Lie", "Lies", "Loan", "Made",
    "Manner", "Near", "Others", "Pulled", "Ran", "Rare", "Regarded", "Room", "Settle", "Settled",
    "Sides", "Since", "Taken", "Together", "Told", "Touch", "Wanted", "Way", "Ways", "FEW",
    "LARGE", "LEAST", "LONG", "MANY", "MOST", "SHORT", "SMALL", "TINY", "few", "made", "settle",
    "told", "together", "way", "ways",
];

#[test]
fn file_names_are_rare() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files("src", "rs") {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        if name != "mod.rs" {
            places.entry(name).or_default().push(path.display().to_string());
        }
    }
    let often = places.into_iter().filter(|(_, paths)| paths.len() > SAME_FILE_NAME);
    let problems = often.map(|(name, paths)| format!("{name}: {}", paths.join(", "))).collect();
    report("a file name says too little, because several files have it", problems);
}

#[test]
fn names_are_nouns_of_the_field() {
    let mut problems = Vec::new();
    for source in sources() {
        for (line, kind, name) in declared(&source) {
            if FORBIDDEN.contains(&name.as_str()) {
                let place = source.path.display();
                problems.push(format!("{place}:{line}: {kind} {name}; say what it is or bounds"));
            }
        }
    }
    report("a name says nothing to a reader of the code", problems);
}
