//! A reader of Rust text for the layer tests.
//!
//! `Source` is a file with comments and literals blanked; the rules need only paths, braces and
//! keywords. Invariant: blanking keeps every newline, so that a position gives the original line.

use std::path::{Path, PathBuf};

/// One file: its path, its text, and its code without comments and literals.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) original: String,
    pub(crate) code: Vec<char>,
    /// Where each line ends.
    breaks: Vec<usize>,
}

impl Source {
    pub(crate) fn read(root: &Path, path: PathBuf) -> Source {
        let original = std::fs::read_to_string(root.join(&path)).expect("UTF-8 text");
        Source::new(path, original)
    }

    pub(crate) fn new(path: PathBuf, original: String) -> Source {
        let code = blank(&original.chars().collect::<Vec<_>>());
        let breaks = (0..code.len()).filter(|i| code[*i] == '\n').collect();
        Source { path, original, code, breaks }
    }

    fn line(&self, at: usize) -> usize {
        1 + self.breaks.partition_point(|end| *end < at)
    }

    /// The words of the code: (position, text), where a word is an identifier or one other mark.
    fn words(&self) -> Vec<(usize, String)> {
        let mut words = Vec::new();
        let mut at = 0;
        while at < self.code.len() {
            let c = self.code[at];
            let end = if is_name(c) {
                (at..self.code.len()).find(|i| !is_name(self.code[*i])).unwrap_or(self.code.len())
            } else if c == ':' && self.code.get(at + 1) == Some(&':') {
                at + 2
            } else {
                at + 1
            };
            if !c.is_whitespace() {
                words.push((at, self.code[at..end].iter().collect()));
            }
            at = end;
        }
        words
    }

    /// Lines that name an external crate: `name::…`, `use name`, `extern crate name`.
    pub(crate) fn lines_naming_crate(&self, name: &str) -> Vec<usize> {
        let words = self.words();
        let text = |i: usize| words.get(i).map_or("", |(_, w)| w.as_str());
        let starts_a_path =
            |i: usize| i == 0 || text(i - 1) != "::" || i == 1 || !is_word(text(i - 2));
        let hit = |i: &usize| {
            text(*i) == name
                && starts_a_path(*i)
                && (text(i + 1) == "::" || (*i > 0 && matches!(text(i - 1), "use" | "crate")))
        };
        (0..words.len()).filter(hit).map(|i| self.line(words[i].0)).collect()
    }

    /// Lines on which these words stand one after the other.
    pub(crate) fn lines_with(&self, wanted: &[&str]) -> Vec<usize> {
        let words = self.words();
        let found = words.windows(wanted.len()).filter(|found| {
            found.iter().zip(wanted).all(|((_, word), wanted)| word.as_str() == *wanted)
        });
        found.map(|found| self.line(found[0].0)).collect()
    }

    /// The items at the top of the file, each as its words up to `;` or with its opening brace.
    pub(crate) fn items(&self) -> Vec<(usize, String)> {
        let mut items = Vec::new();
        let (mut depth, mut start, mut item) = (0usize, None, String::new());
        for (at, word) in without_attributes(self.words()) {
            start.get_or_insert(at);
            let is_use = item.split_whitespace().any(|w| w == "use");
            if depth == 0 || is_use {
                item.push_str(&word);
                item.push(' ');
            }
            match word.as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            let ends = depth == 0 && (word == ";" || (word == "}" && !is_use));
            if ends && let Some(from) = start.take() {
                items.push((self.line(from), std::mem::take(&mut item)));
            }
        }
        items
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_word(word: &str) -> bool {
    word.chars().next().is_some_and(is_name)
}

/// Drops `#[…]` and `#![…]`.
fn without_attributes(words: Vec<(usize, String)>) -> Vec<(usize, String)> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let open = at + 1 + usize::from(words.get(at + 1).is_some_and(|w| w.1 == "!"));
        if words[at].1 == "#" && words.get(open).is_some_and(|w| w.1 == "[") {
            at = closing(&words, open, "[", "]") + 1;
        } else {
            kept.push(words[at].clone());
            at += 1;
        }
    }
    kept
}

/// The index of the mark that closes the one at `open`.
fn closing(words: &[(usize, String)], open: usize, left: &str, right: &str) -> usize {
    let mut depth = 0;
    for (i, (_, word)) in words.iter().enumerate().skip(open) {
        depth += usize::from(word == left);
        depth -= usize::from(word == right);
        if depth == 0 {
            return i;
        }
    }
    words.len() - 1
}

/// Replaces comments, strings and character literals by spaces.
fn blank(text: &[char]) -> Vec<char> {
    let mut out = text.to_vec();
    let mut at = 0;
    while at < text.len() {
        let end = literal_end(text, at);
        for slot in &mut out[at..end] {
            if *slot != '\n' {
                *slot = ' ';
            }
        }
        at = end.max(at + 1);
    }
    out
}

/// Where the comment or literal that begins at `at` ends; `at` itself if none does.
fn literal_end(text: &[char], at: usize) -> usize {
    let next = text.get(at + 1).copied().unwrap_or(' ');
    let begins_word = at == 0 || !is_name(text[at - 1]);
    match text[at] {
        '/' if next == '/' => find(text, at, "\n").unwrap_or(text.len()),
        '/' if next == '*' => block_comment_end(text, at),
        '"' => quoted_end(text, at + 1, '"'),
        'r' if begins_word && matches!(next, '"' | '#') => raw_string_end(text, at),
        '\'' if next == '\\' => quoted_end(text, at + 1, '\''),
        '\'' if text.get(at + 2) == Some(&'\'') => at + 3,
        _ => at,
    }
}

fn find(text: &[char], from: usize, what: &str) -> Option<usize> {
    let what: Vec<char> = what.chars().collect();
    (from..text.len()).find(|i| text[*i..].starts_with(&what))
}

fn block_comment_end(text: &[char], at: usize) -> usize {
    let (mut depth, mut i) = (0, at);
    while i < text.len() {
        match (text[i], text.get(i + 1)) {
            ('/', Some('*')) => (depth, i) = (depth + 1, i + 2),
            ('*', Some('/')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    text.len()
}

fn quoted_end(text: &[char], from: usize, quote: char) -> usize {
    let mut i = from;
    while i < text.len() && text[i] != quote {
        i += 1 + usize::from(text[i] == '\\');
    }
    (i + 1).min(text.len())
}

/// The end of `r"…"` or `r#"…"#`; of a raw identifier (`r#type`), nothing is blanked.
fn raw_string_end(text: &[char], at: usize) -> usize {
    let hashes = text[at + 1..].iter().take_while(|c| **c == '#').count();
    if text.get(at + 1 + hashes) != Some(&'"') {
        return at;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    find(text, at + 2 + hashes, &close).map_or(text.len(), |i| i + close.len())
}

/// The module of a file as path segments: `src/array/pool.rs` → `array`, `pool`.
fn module(path: &Path) -> Vec<String> {
    let mut parts: Vec<String> =
        path.components().skip(1).map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
    let last = parts.pop().unwrap_or_default();
    let stem = last.trim_end_matches(".rs");
    if !matches!(stem, "mod" | "lib") {
        parts.push(stem.to_string());
    }
    parts
}

/// Every path from the crate's root that the file names, `use` groups spread, `super` resolved.
pub(crate) fn paths(source: &Source) -> Vec<(usize, String)> {
    let words = source.words();
    let text = |i: usize| words.get(i).map_or("", |(_, w)| w.as_str());
    let home = module(&source.path);
    let mut found = Vec::new();
    for i in 0..words.len() {
        let inner = i > 0 && text(i - 1) == "::";
        if inner || !matches!(text(i), "crate" | "super") || text(i + 1) != "::" {
            continue;
        }
        let ups = (0..).take_while(|k| text(i + 2 * k) == "super").count();
        // Inline modules make `super` relative to them; those stay within the file's own layer.
        let (base, first) = match ups {
            0 => (Vec::new(), i + 2),
            n if n <= home.len() => (home[..home.len() - n].to_vec(), i + 2 * n),
            _ => continue,
        };
        let mut spread = Vec::new();
        spread_group(&words, first, &base.join("::"), &mut spread);
        found.extend(spread.into_iter().map(|(at, path)| (source.line(at), path)));
    }
    found
}

/// Reads `a::b`, `a::{b, c::d}`, `{a, b}` from word `i` on; returns the word after it.
fn spread_group(
    words: &[(usize, String)],
    mut i: usize,
    base: &str,
    found: &mut Vec<(usize, String)>,
) -> usize {
    let text = |i: usize| words.get(i).map_or("", |(_, w)| w.as_str());
    let start = words.get(i).map_or(0, |w| w.0);
    let mut path = base.to_string();
    loop {
        if text(i) == "{" {
            i += 1;
            while i < words.len() && text(i) != "}" {
                i = spread_group(words, i, &path, found).max(i + 1);
                i += usize::from(text(i) == ",");
            }
            return i + 1;
        }
        if is_word(text(i)) {
            path = if path.is_empty() { text(i).into() } else { format!("{path}::{}", text(i)) };
            i += 1;
        }
        if text(i) != "::" {
            break;
        }
        i += 1;
    }
    if text(i) == "as" {
        i += 2;
    }
    found.push((start, path));
    i
}

/// Lines on which the keyword `unsafe` stands.
pub(crate) fn unsafe_lines(source: &Source) -> Vec<usize> {
    let words = source.words();
    words.iter().filter(|(_, w)| w == "unsafe").map(|(at, _)| source.line(*at)).collect()
}

/// What a file declares outside of functions and in them: (line, keyword, name).
pub(crate) fn declared(source: &Source) -> Vec<(usize, String, String)> {
    const KEYWORDS: &[&str] = &["struct", "enum", "trait", "type", "const", "static", "mod", "fn"];
    let words = source.words();
    let pairs = words.windows(2).filter(|pair| KEYWORDS.contains(&pair[0].1.as_str()));
    let named = pairs.filter(|pair| pair[1].1.starts_with(is_name));
    named.map(|pair| (source.line(pair[0].0), pair[0].1.clone(), pair[1].1.clone())).collect()
}

/// Every function with a body: (line, name, number of lines from `fn` to its closing brace).
pub(crate) fn functions(source: &Source) -> Vec<(usize, String, usize)> {
    let words = source.words();
    let mut found = Vec::new();
    for i in 0..words.len().saturating_sub(1) {
        if words[i].1 != "fn" || !is_word(&words[i + 1].1) {
            continue;
        }
        let mut open = i;
        while open < words.len() && !matches!(words[open].1.as_str(), "{" | ";") {
            // A constant expression in the signature, such as `[u8; 4]`, is no end.
            open = if words[open].1 == "[" { closing(&words, open, "[", "]") } else { open } + 1;
        }
        if words.get(open).is_some_and(|w| w.1 == "{") {
            let first = source.line(words[i].0);
            let last = source.line(words[closing(&words, open, "{", "}")].0);
            found.push((first, words[i + 1].1.clone(), last - first + 1));
        }
    }
    found
}
