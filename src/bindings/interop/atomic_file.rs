//! Files that are replaced as a whole.
//!
//! Owns: the temporary file beside the target, its way to the disk, and what killed programs left of such files.
//! Never knows what is written. Invariant: at any moment, also after a loss of power, the name leads to the old
//! content or to the new one; an error leaves the old one.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;

/// Links that are followed.
const LINKS: usize = 40;

/// What a path leads to by links, the last of which may lead to nothing yet.
fn followed(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Ok(whole) = fs::canonicalize(&path) {
            return Ok(whole);
        }
        let Ok(next) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(Error::new(ErrorKind::InvalidInput, "the path goes through too many links"))
}

/// Writes a new file and gives it the name `path`.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    // A link is kept: what it leads to is replaced.
    let path = followed(path)?;
    if fs::metadata(&path).is_ok_and(|there| !there.is_file()) {
        return Err(Error::new(ErrorKind::InvalidInput, "the path leads to what is no file"));
    }
    let Some(name) = path.file_name() else {
        return Err(Error::new(ErrorKind::InvalidInput, "the path ends in no name of a file"));
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    sweep(folder, name);
    let (temporary, mut file) = create(folder, name)?;
    let done = (|| {
        write(&mut file)?;
        if let Ok(old) = fs::metadata(&path) {
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&temporary, &path)
    })();
    if done.is_err() {
        // What could not be written is of no use; the first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    done?;
    File::open(folder)?.sync_all()
}

fn beginning(name: &OsStr) -> String {
    format!(".{}.", name.to_string_lossy())
}

/// A new file, which is locked as long as it is being written.
fn create(folder: &Path, name: &OsStr) -> Result<(PathBuf, File)> {
    let mut number = 0;
    loop {
        let own = format!("{}{}-{number}.tmp", beginning(name), process::id());
        let temporary = folder.join(own);
        number += 1;
        match File::create_new(&temporary) {
            Ok(file) => {
                // File systems without locks have nobody who sweeps either.
                let _ = file.lock();
                // Somebody who swept before the lock was there may have taken it away.
                if file.metadata()?.nlink() > 0 {
                    return Ok((temporary, file));
                }
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 10_000 => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes temporary files of this name that nobody writes any more.
fn sweep(folder: &Path, name: &OsStr) {
    let begins = beginning(name);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let text = found.to_string_lossy();
        let ours = text.strip_prefix(&begins).and_then(|rest| rest.strip_suffix(".tmp"));
        let numbers = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '-');
        if ours.is_some_and(numbers)
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}
