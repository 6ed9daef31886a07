//! Checks the source against the layer table of `docs/architecture.md` and the size rules.
//!
//! A small reader of Rust text (comments and strings blanked, `crate::` and `super::` paths resolved)
//! and one test per rule. A failure names the file, the line, the rule and what to do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "layers/directories.rs"]
mod directories;
#[path = "layers/gate.rs"]
mod gate;
#[path = "layers/names.rs"]
mod names;
#[path = "layers/text.rs"]
mod text;

use text::{Source, functions, paths, unsafe_lines};

/// The layers that each layer may name, besides itself.
const MAY_USE: &[(&str, &[&str])] = &[
    ("dtype", &[]),
    ("error", &["dtype"]),
    ("threads", &["error"]),
    ("array", &["dtype", "error", "threads"]),
    ("kernels", &["dtype", "error", "threads", "array"]),
    ("graph", &["error", "threads"]),
    ("tensor", &["dtype", "error", "threads", "graph", "array"]),
    ("ops", &["dtype", "error", "threads", "array", "kernels", "graph", "tensor"]),
    ("compile", &["dtype", "error", "threads", "array", "kernels", "graph", "tensor", "ops"]),
    ("bindings", &["dtype", "error", "threads", "array", "graph", "tensor", "ops", "compile"]),
];

/// Exceptions: (layer, path that it may name).
const ALSO: &[(&str, &str)] = &[("bindings", "kernels::isa")];

/// Internal modules of a layer that another layer must not name.
const PRIVATE: &[(&str, &str)] = &[
    ("ops", "graph::engine"),
    ("ops", "graph::arena"),
    ("tensor", "graph::engine"),
    ("tensor", "graph::arena"),
    ("bindings", "graph::engine"),
    ("bindings", "graph::arena"),
];

/// The layers in which an external crate may be named.
const CRATES: &[(&str, &[&str])] = &[
    ("pyo3", &["bindings"]),
    ("numpy", &["bindings"]),
    ("gemm_common", &["kernels"]),
    ("gemm_f32", &["kernels"]),
    ("gemm_f64", &["kernels"]),
    ("rustfft", &["kernels"]),
    ("rayon", &["threads"]),
    ("libc", &["threads", "array"]),
    ("ndarray", &["array", "kernels", "tensor", "ops"]),
    ("thiserror", &["error"]),
];

/// Where `unsafe` is allowed: a folder (ending in `/`) or a file.
const UNSAFE: &[&str] = &[
    "src/array/",
    "src/kernels/",
    "src/compile/",
    "src/graph/arena/",
    "src/bindings/attach.rs",
    "src/bindings/interop/numpy.rs",
    "src/bindings/interop/dlpack/",
    "src/bindings/call/entry.rs",
    "src/bindings/call/small_ops.rs",
    "src/bindings/call/lazy_methods.rs",
    "src/bindings/call/slice.rs",
    "src/bindings/object/nn_module_slots.rs",
    "src/bindings/object/free_list.rs",
    "src/bindings/tensor/slots.rs",
    "src/threads.rs",
    "src/threads/",
];

/// Where the GIL may be released; the second file accesses no tensor meanwhile.
const DETACHED: &[&str] =
    &["src/bindings/call/intercept.rs", "src/bindings/interop/safetensors.rs"];

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 50;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file with this extension under a folder, as paths relative to the root.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root().join(folder)];
    while let Some(dir) = pending.pop() {
        let Ok(entries) = fs::read_dir(&dir) else {
            continue;
        };
        for path in entries.map(|e| e.expect("a readable folder").path()) {
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path.strip_prefix(root()).expect("under the root").to_path_buf());
            }
        }
    }
    found.sort();
    found
}

fn sources() -> Vec<Source> {
    files("src", "rs").into_iter().map(|path| Source::read(&root(), path)).collect()
}

/// The layer of a file, or None for `src/lib.rs`, which may name everything.
fn layer(path: &Path) -> Option<String> {
    let first = path.components().nth(1)?.as_os_str().to_string_lossy();
    let name = first.strip_suffix(".rs").unwrap_or(&first);
    (name != "lib").then(|| name.to_string())
}

fn report(rule: &str, problems: Vec<String>) {
    let count = problems.len();
    assert!(problems.is_empty(), "{rule} ({count}):\n  {}\n", problems.join("\n  "));
}

/// Why `layer` must not name `path` (without `crate::`), if it must not.
fn forbidden(layer: &str, path: &str) -> Option<String> {
    let target = path.split("::").next().unwrap_or_default();
    let within = |prefix: &str| path == prefix || path.starts_with(&format!("{prefix}::"));
    if target == layer || ALSO.iter().any(|(l, p)| *l == layer && within(p)) {
        return None;
    }
    if let Some((_, part)) = PRIVATE.iter().find(|(l, p)| *l == layer && within(p)) {
        return Some(format!("crate::{part} is internal; use what its layer re-exports"));
    }
    // A name that is no layer is a macro or an item of the crate's root.
    let known = MAY_USE.iter().any(|(name, _)| *name == target);
    let allowed = MAY_USE.iter().find(|(name, _)| *name == layer).map_or(&[][..], |(_, a)| a);
    (known && !allowed.contains(&target))
        .then(|| format!("`{layer}` may use {allowed:?} only; move the code or pass the value in"))
}

#[test]
fn layers_point_one_way() {
    let mut problems = Vec::new();
    for source in sources() {
        let Some(layer) = layer(&source.path) else {
            continue;
        };
        if !MAY_USE.iter().any(|(name, _)| *name == layer) {
            problems.push(format!("{}: `{layer}` is no layer of the table", source.path.display()));
        }
        for (line, path) in paths(&source) {
            if let Some(why) = forbidden(&layer, &path) {
                let place = source.path.display();
                problems.push(format!("{place}:{line}: names crate::{path}: {why}"));
            }
        }
    }
    report("a layer reaches where it must not", problems);
}

#[test]
fn external_crates_stay_in_their_layer() {
    let mut problems = Vec::new();
    for source in sources() {
        let Some(layer) = layer(&source.path) else {
            continue;
        };
        for (name, layers) in CRATES {
            if layers.contains(&layer.as_str()) {
                continue;
            }
            for line in source.lines_naming_crate(name) {
                let place = source.path.display();
                problems.push(format!("{place}:{line}: {name} belongs to {layers:?} only"));
            }
        }
    }
    report("an external crate is named outside its layer", problems);
}

#[test]
fn unsafe_stays_where_its_contract_is_kept() {
    let mut problems = Vec::new();
    for source in sources() {
        let path = source.path.to_string_lossy().replace('\\', "/");
        let allowed = |p: &str| path == p || (p.ends_with('/') && path.starts_with(p));
        if !UNSAFE.iter().any(|p| allowed(p)) {
            problems.extend(unsafe_lines(&source).iter().map(|line| {
                format!("{path}:{line}: move it behind a safe function of {UNSAFE:?}")
            }));
        }
    }
    report("`unsafe` stands outside the files that may hold it", problems);
}

#[test]
fn the_interpreter_is_left_through_the_door() {
    let mut problems = Vec::new();
    for source in sources() {
        let path = source.path.to_string_lossy().replace('\\', "/");
        if !DETACHED.contains(&path.as_str()) {
            problems.extend(source.lines_with(&["py", ".", "detach"]).iter().map(|line| {
                format!("{path}:{line}: call `intercept::without_gil`, or plain counts are unsound")
            }));
        }
    }
    report("the interpreter's lock is given up outside the door", problems);
}

#[test]
fn locks_are_counted_where_python_is_entered() {
    let mut problems = Vec::new();
    for source in sources() {
        let path = source.path.to_string_lossy().replace('\\', "/");
        let ours = paths(&source).iter().any(|(_, path)| path.ends_with("threads::Mutex"));
        let mut refuse = |words: &[&str], home: &str, instead: &str| {
            if !path.starts_with(home) {
                let lines = source.lines_with(words);
                problems.extend(lines.iter().map(|line| format!("{path}:{line}: {instead}")));
            }
        };
        if !ours {
            refuse(&["Mutex"], "src/threads", "use `threads::Mutex`, which is counted");
        }
        refuse(&["RwLock"], "nowhere", "use `threads::Mutex`, which is counted");
        refuse(&["Python", "::", "try_attach"], "src/bindings", "call `attach::attached`");
        refuse(&["Python", "::", "attach"], "src/bindings/attach.rs", "call `attach::attached`");
    }
    report("the check of held locks does not see a lock, or an entry into Python", problems);
}

#[test]
fn files_stay_short() {
    let mut all = files("src", "rs");
    for (folder, extension) in
        [("tests", "rs"), ("examples", "rs"), ("python/ferrograd", "py"), ("tools", "py")]
    {
        all.extend(files(folder, extension));
    }
    for folder in ["benches", "examples", "tests"] {
        all.extend(files(folder, "py"));
    }
    let long = all.into_iter().filter_map(|path| {
        let lines = fs::read_to_string(root().join(&path)).expect("UTF-8 text").lines().count();
        let place = path.display();
        (lines > FILE_LINES).then(|| format!("{place}: {lines} lines; split it by concern"))
    });
    report(&format!("a file is longer than {FILE_LINES} lines"), long.collect());
}

#[test]
fn functions_stay_short() {
    let mut problems = Vec::new();
    for source in sources() {
        for (line, name, length) in functions(&source) {
            if length > FUNCTION_LINES {
                let place = source.path.display();
                problems.push(format!("{place}:{line}: fn {name} has {length} lines; split it"));
            }
        }
    }
    report(&format!("a function is longer than {FUNCTION_LINES} lines"), problems);
}

#[test]
fn roots_only_re_export() {
    let mut problems = Vec::new();
    for source in sources() {
        let name = source.path.file_name().expect("a file").to_string_lossy().into_owned();
        if name != "mod.rs" && name != "lib.rs" {
            continue;
        }
        for (line, item) in source.items() {
            // An alias fixes a type parameter of what it re-exports, so it may stand here.
            let mut words = item.split_whitespace().filter(|w| !matches!(*w, "pub" | "(" | ")"));
            let fine = match words.next() {
                Some("use" | "type") => true,
                Some("mod") => !item.contains('{'),
                _ => false,
            };
            if !fine {
                let place = source.path.display();
                problems.push(format!("{place}:{line}: `{}` belongs to its own file", item.trim()));
            }
        }
    }
    report("mod.rs and lib.rs hold only `mod` and `use`", problems);
}

#[test]
fn the_reader_sees_what_it_must() {
    let code = r##"
        //! crate::ops::add in a comment, "unsafe" too
        use crate::{array::{Layout, pool as p}, ops::add};
        use super::super::kernels::gemm;
        pub(crate) use crate::error::Error;
        fn f() { let s = "crate::tensor::Tensor \" unsafe"; crate::graph::record(s) }
        fn long(x: [u8; 2])
        {
            let c = '"'; let r = r#"unsafe { crate::ops }"#;
        }
        unsafe fn g() { numpy::call(); self::numpy(); let libc = 1; }
    "##;
    let source = Source::new("src/array/pool.rs".into(), code.into());
    let named: Vec<String> = paths(&source).into_iter().map(|(_, path)| path).collect();
    let want = [
        "array::Layout",
        "array::pool",
        "ops::add",
        "kernels::gemm",
        "error::Error",
        "graph::record",
    ];
    assert_eq!(named, want);
    assert_eq!(unsafe_lines(&source), [11]);
    assert_eq!(source.lines_naming_crate("numpy"), [11]);
    assert!(source.lines_naming_crate("libc").is_empty());
    let lengths: Vec<_> = functions(&source).into_iter().map(|(_, name, n)| (name, n)).collect();
    assert_eq!(lengths, [("f".into(), 1), ("long".into(), 4), ("g".into(), 1)]);
    assert!(forbidden("array", "ops::add").is_some());
    assert!(forbidden("graph", "dtype::DType").is_some());
    assert!(forbidden("ops", "graph::engine::Pass").is_some());
    assert!(forbidden("ops", "graph::record").is_none());
    assert!(forbidden("bindings", "kernels::isa::level").is_none());
}

#[test]
fn every_module_says_what_it_owns() {
    let silent: BTreeSet<String> = sources()
        .iter()
        .filter(|s| !s.original.trim_start().starts_with("//!"))
        .map(|s| format!("{}: begins without a `//!` comment", s.path.display()))
        .collect();
    report("a module does not say what it owns", silent.into_iter().collect());
}
