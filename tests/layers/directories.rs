//! Checks the dependency order of the directories inside a layer: one may name only those before it in
//! its list.
//!
//! Covers `src/ops`, `src/compile`, `src/bindings` and the Python package, whose imports are read as text
//! (docstrings and type-checking blocks are skipped). Every exception is listed here with its reason.

use std::fs;
use std::path::Path;

use super::text::paths;
use super::{files, report, root, sources};

/// The directories of `src/ops`, each of which may name those before it. Files beside the directories count as directories.
const OPS: &[&str] = &[
    "core",
    "elementwise",
    "shape",
    "index",
    "inplace",
    "product",
    "linalg",
    "reduce",
    "signal",
    "fft",
    "nn",
    "custom_op",
    "autograd",
    "operators",
    "value",
    "registry",
];

/// The directories of `src/compile`.
const COMPILE: &[&str] = &[
    "ir",
    "passes",
    "exec",
    "trace",
    "host_call",
    "leaf_state",
    "program",
    "bound_program",
    "autograd",
    "control_flow",
];

/// The directories of `src/bindings`.
const BINDINGS: &[&str] = &[
    "attach",
    "package",
    "errors",
    "object",
    "interop",
    "call",
    "pytree",
    "custom_op",
    "graph",
    "backward",
    "compile",
    "runtime",
    "tensor",
    "module",
];

/// Exceptions in Rust: (file, directory that it may name, reason).
const RUST_ALSO: &[(&str, &str, &str)] = &[(
    "src/ops/core/formulas/symbolic.rs",
    "elementwise",
    "the symbolic reading of a derivative calls the operation of each letter of its alphabet",
)];

/// The directories of `python/ferrograd`, each of which may name those before it; "" is the package itself.
const PYTHON: &[&str] = &[
    "_names",
    "errors",
    "_tensor",
    "_inspect",
    "_dispatch",
    "transforms",
    "_compile",
    "_checking",
    "functions",
    "extend",
    "functors",
    "linalg",
    "_pytorch",
    "nn",
    "func",
    "optim",
    "utils",
    "_saving",
    "distributed",
    "autograd",
    "fft",
    "",
    "numpy",
    "hips",
    "scipy",
    "array_api",
];

/// Exceptions in Python: (file, directory that it may import, reason).
const PYTHON_ALSO: &[(&str, &str, &str)] = &[
    (
        "python/ferrograd/numpy/numpy_boxes.py",
        "hips",
        "a name of HIPS autograd that programs import from its numpy package",
    ),
    (
        "python/ferrograd/nn/layers/synchronised.py",
        "distributed",
        "the one layer that communicates, which loads it when it first does",
    ),
    (
        "python/ferrograd/transforms/_matrix.py",
        "_compile",
        "a large Jacobian in a program is a loop, which is loaded when there is one",
    ),
];

fn rank(order: &[&str], directory: &str) -> Option<usize> {
    order.iter().position(|known| *known == directory)
}

/// The directory of a path below `base`, or the name of a file beside the directories.
fn directory_of(path: &Path, base: &str) -> Option<String> {
    let inside = path.strip_prefix(base).ok()?;
    let first = inside.components().next()?.as_os_str().to_string_lossy().into_owned();
    let name = first.trim_end_matches(".rs").trim_end_matches(".py").to_owned();
    Some(if matches!(name.as_str(), "mod" | "__init__") { String::new() } else { name })
}

/// Violations in a layer: files that name a directory after their own.
fn upward(layer: &str, order: &[&str]) -> Vec<String> {
    let (base, prefix) = (format!("src/{layer}"), format!("{layer}::"));
    let mut problems = Vec::new();
    for source in sources() {
        let Some(directory) =
            directory_of(&source.path, &base).filter(|directory| !directory.is_empty())
        else {
            continue;
        };
        let place = source.path.display().to_string();
        let Some(own) = rank(order, &directory) else {
            problems.push(format!("{place}: `{directory}` is not in the order of directories"));
            continue;
        };
        for (line, path) in paths(&source) {
            let Some(target) = path.strip_prefix(&prefix).and_then(|p| p.split("::").next()) else {
                continue;
            };
            let allowed = RUST_ALSO.iter().any(|(file, to, _)| *file == place && *to == target);
            if rank(order, target).is_some_and(|rank| rank > own) && !allowed {
                problems.push(format!("{place}:{line}: `{directory}` stands below `{target}`"));
            }
        }
    }
    problems
}

#[test]
fn rooms_of_operations_point_one_way() {
    report("a directory of operations names one above it", upward("ops", OPS));
}

#[test]
fn rooms_of_programs_point_one_way() {
    report("a directory of programs names one above it", upward("compile", COMPILE));
}

#[test]
fn rooms_of_the_bindings_point_one_way() {
    report("a directory of the bindings names one above it", upward("bindings", BINDINGS));
}

/// The text with the content of triple-quoted strings blanked; lines stay.
fn without_docstrings(text: &str) -> String {
    let mut parts = text.split("\"\"\"");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for (i, part) in parts.enumerate() {
        if i % 2 == 0 {
            all.extend(part.chars().filter(|c| *c == '\n'));
        } else {
            all.push_str(part);
        }
    }
    all
}

/// The modules that a Python text imports when it runs: (line, full name). `from a import b` gives `a.b`.
fn imports(text: &str) -> Vec<(usize, String)> {
    let text = without_docstrings(text);
    let mut found = Vec::new();
    let mut typing: Option<usize> = None;
    let mut lines = text.lines().enumerate();
    while let Some((i, line)) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        if !line.trim().is_empty() && typing.is_some_and(|block| indent <= block) {
            typing = None;
        }
        if line.trim_start().starts_with("if ")
            && line.contains("TYPE_CHECKING:")
            && !line.contains(" not ")
        {
            typing = Some(indent);
        }
        let mut code = line.trim().to_owned();
        if code.starts_with("from ") && code.contains("import (") {
            while !code.contains(')') {
                let Some((_, more)) = lines.next() else { break };
                code.push_str(more.split('#').next().unwrap_or_default());
            }
        }
        if typing.is_none() {
            found.extend(named(&code).into_iter().map(|name| (i + 1, name)));
        }
    }
    found
}

fn named(code: &str) -> Vec<String> {
    let plain = |name: &str| name.split_whitespace().next().unwrap_or_default().to_owned();
    if let Some(list) = code.strip_prefix("import ") {
        return list.split(',').map(plain).collect();
    }
    let Some((module, list)) =
        code.strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
    else {
        return Vec::new();
    };
    let list = list.trim_matches(|c| matches!(c, '(' | ')' | ' '));
    let names = list.split(',').map(plain).filter(|name| !name.is_empty());
    names.map(|name| format!("{}.{name}", module.trim())).collect()
}

/// The directory of a full module name, if it belongs to the package.
fn python_room(name: &str) -> Option<&str> {
    let inside = name.strip_prefix("ferrograd")?;
    let first = inside.strip_prefix('.').unwrap_or(inside).split('.').next()?;
    Some(if rank(PYTHON, first).is_some() { first } else { "" }).filter(|_| first != "_core")
}

#[test]
fn rooms_of_the_python_package_point_one_way() {
    let mut problems = Vec::new();
    for path in files("python/ferrograd", "py") {
        let place = path.display().to_string();
        let directory = directory_of(&path, "python/ferrograd").unwrap_or_default();
        let Some(own) = rank(PYTHON, &directory) else {
            problems.push(format!("{place}: `{directory}` is not in the order of directories"));
            continue;
        };
        let text = std::fs::read_to_string(root().join(&path)).expect("UTF-8 text");
        for (line, name) in imports(&text) {
            let Some(target) = python_room(&name) else { continue };
            let allowed = PYTHON_ALSO.iter().any(|(file, to, _)| *file == place && *to == target);
            if rank(PYTHON, target).is_some_and(|rank| rank > own) && !allowed {
                problems.push(format!(
                    "{place}:{line}: `{directory}` stands below `{target}` ({name})"
                ));
            }
        }
    }
    report("a directory of the Python package imports one above it", problems);
}

/// The one file of the bindings that names what they call in the Python package.
const PACKAGE: &str = "src/bindings/package.rs";

/// The quoted texts of a line.
fn quoted(line: &str) -> Vec<&str> {
    line.split('"').skip(1).step_by(2).collect()
}

/// The source of a Python module, if it exists.
fn module_text(name: &str) -> Option<String> {
    let base = root().join("python").join(name.replace('.', "/"));
    let read = |path: &Path| fs::read_to_string(path).ok();
    read(&base.with_extension("py")).or_else(|| read(&base.join("__init__.py")))
}

#[test]
fn what_rust_calls_in_python_exists() {
    let mut problems = Vec::new();
    let text = fs::read_to_string(root().join(PACKAGE)).expect("the table of names");
    let mut checked = 0;
    for line in text.lines() {
        // A module and a name in it, or several names.
        let [module, names] = quoted(line)[..] else {
            continue;
        };
        let found = module_text(module).unwrap_or_default();
        let words: Vec<&str> = found.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for name in names.split(' ') {
            checked += 1;
            if !words.contains(&name) {
                problems.push(format!("{PACKAGE}: {module} has no {name}"));
            }
        }
    }
    assert!(checked > 15, "{PACKAGE}: {checked} names were read");
    for source in sources().iter().filter(|s| s.path.starts_with("src/bindings")) {
        let place = source.path.display().to_string();
        for (i, line) in source.original.lines().enumerate() {
            for text in quoted(line).into_iter().filter(|text| text.starts_with("ferrograd.")) {
                let path = text.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '.' | '_'));
                if !path || text.starts_with("ferrograd._core") {
                    continue;
                }
                if module_text(text).is_none() {
                    problems.push(format!("{place}:{}: no module {text}", i + 1));
                }
                // The module of a class is set next to the class.
                let belongs = line.contains("module = ") || line.contains("__module__");
                if place != PACKAGE && !belongs {
                    problems.push(format!("{place}:{}: {text} belongs into {PACKAGE}", i + 1));
                }
            }
        }
    }
    report("Rust calls something in Python that does not exist, or is not in the table", problems);
}

#[test]
fn the_reader_of_imports_sees_what_it_must() {
    let text = "\"\"\"Doc.\n\nimport ferrograd as fg\n\"\"\"\nimport numpy as np, ferrograd.nn\nfrom ferrograd.nn import (\n    Linear,  # one\n    GELU,\n)\nif TYPE_CHECKING:\n    from ferrograd.optim import SGD\ndef f():\n    from ferrograd import errors\n";
    let want = [
        (5, "numpy"),
        (5, "ferrograd.nn"),
        (6, "ferrograd.nn.Linear"),
        (6, "ferrograd.nn.GELU"),
        (13, "ferrograd.errors"),
    ];
    let found = imports(text);
    let found: Vec<(usize, &str)> =
        found.iter().map(|(line, name)| (*line, name.as_str())).collect();
    assert_eq!(found, want);
    assert_eq!(python_room("ferrograd.nn.Linear"), Some("nn"));
    assert_eq!(python_room("ferrograd.tensor"), Some(""));
    assert_eq!(python_room("ferrograd._core.Tensor"), None);
    assert_eq!(python_room("numpy"), None);
}
