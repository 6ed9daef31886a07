"""Finds Cargo dependencies that no source file names.

It costs milliseconds, needs no network and, unlike a search of the text, does not count a name that
stands only in a comment or a string. Invariant: every dependency in `Cargo.toml` is used by a path
(`name::`) or a `use` in its folder.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECTIONS = {
    "dependencies": ["src"],
    "dev-dependencies": ["tests", "examples", "benches", "src"],
    "build-dependencies": ["build.rs"],
}
COMMENTS_AND_STRINGS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)


def read_code(places: list[str]) -> str:
    """The Rust code in these files and folders, without comments and strings."""
    files: list[Path] = []
    for place in places:
        path = ROOT / place
        files += sorted(path.rglob("*.rs")) if path.is_dir() else [path] * path.is_file()
    return "\n".join(COMMENTS_AND_STRINGS.sub("", file.read_text()) for file in files)


def find_unused(manifest: dict[str, dict[str, object]]) -> list[str]:
    """The dependencies that the code never names, as `section: name`."""
    found = []
    for section, places in SECTIONS.items():
        code = read_code(places)
        for name in manifest.get(section, {}):
            crate = re.escape(name.replace("-", "_"))
            if not re.search(
                rf"\b{crate}\s*::|\buse\s+{crate}\b|\bextern\s+crate\s+{crate}\b", code
            ):
                found.append(f"{section}: {name}")
    return found


def main() -> None:
    """Exits with a message when a dependency is dead."""
    with open(ROOT / "Cargo.toml", "rb") as file:
        dead = find_unused(tomllib.load(file))
    if dead:
        sys.exit("no source file uses these; remove them from Cargo.toml:\n  " + "\n  ".join(dead))


if __name__ == "__main__":
    main()
