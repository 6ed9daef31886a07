//! Checks that every public kernel passes the launch gate, so that a trace sees all reads and writes.
//!
//! Owns: that one rule. Invariant: a public function of `src/kernels` that takes views says `launch!`, hands a launch to
//! the tracer, calls a function of its file that does, or refuses while there is a recording.

use std::fs;

use super::{files, report, root};

/// Public functions that take views but access no element themselves.
const NO_KERNELS: &[&str] = &["decide"];

/// The functions of a file at its top level: name, signature, body.
fn functions(text: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("fn ") {
        let starts_line = rest[..at].rfind('\n').map_or(0, |line| line + 1);
        let before = &rest[starts_line..at];
        let after = &rest[at + 3..];
        let end = after.find("\n}").unwrap_or(after.len());
        if before.starts_with(' ') || before.contains("//") {
            rest = after;
            continue;
        }
        let whole = &after[..end];
        let open = whole.find(" {\n").unwrap_or(whole.len());
        let name: String = whole.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let signature = format!("{before}{}", &whole[..open]);
        found.push((name, signature, whole[open..].to_owned()));
        rest = &after[end..];
    }
    found
}

fn is_gated(body: &str) -> bool {
    let refuses = "if observer::is_active() {\n        return false;\n    }\n";
    let gates = [
        "launch!(",
        "trace_launch(Launch",
        "launch::trace_launch(",
        "launch::run_kernel(",
        "traced_offsets::",
        "launch_norm::",
    ];
    let first = body.trim_start_matches([' ', '{', '\n']);
    first.starts_with(refuses) || gates.iter().any(|gate| body.contains(gate))
}

#[test]
fn every_public_kernel_begins_at_the_launch_gate() {
    let mut found = Vec::new();
    for file in files("src/kernels", "rs") {
        let text = fs::read_to_string(root().join(&file)).expect("a source file");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let functions = functions(text);
        for (name, signature, body) in &functions {
            let public = signature.starts_with("pub fn") || signature.starts_with("pub ");
            let takes_views = signature.contains("View") && !signature.contains("Operand<'_>");
            if !public || !takes_views || NO_KERNELS.contains(&name.as_str()) || is_gated(body) {
                continue;
            }
            let passes_on = functions.iter().any(|(other, _, inner)| {
                other != name && is_gated(inner) && body.contains(&format!("{other}("))
            });
            if !passes_on {
                found.push(format!(
                    "{}: {name} reads or writes views without `launch!`",
                    file.display()
                ));
            }
        }
    }
    report("a kernel is not seen by recordings", found);
}
