//! Atomic file replacement: writes a temporary file, syncs it and renames it. After a crash or power loss the name
//! refers to the old or the new content, never to a part.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;

/// The most symbolic links that are followed.
const MAX_LINKS: usize = 40;

/// Resolves symbolic links; the last may be dangling.
fn resolve_links(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(whole) = fs::canonicalize(&path) {
            return Ok(whole);
        }
        let Ok(next) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    Err(Error::new(ErrorKind::InvalidInput, "the path goes through too many links"))
}

/// Writes a new file and renames it to `path`.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    // A symbolic link is kept: its target is replaced.
    let path = resolve_links(path)?;
    if fs::metadata(&path).is_ok_and(|there| !there.is_file()) {
        return Err(Error::new(ErrorKind::InvalidInput, "the path leads to what is no file"));
    }
    let Some(name) = path.file_name() else {
        return Err(Error::new(ErrorKind::InvalidInput, "the path ends in no name of a file"));
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    remove_stale_files(folder, name);
    let (temporary, mut file) = create_locked(folder, name)?;
    let done = (|| {
        write(&mut file)?;
        if let Ok(old) = fs::metadata(&path) {
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&temporary, &path)
    })();
    if done.is_err() {
        // Report the first error; the temporary file is useless.
        let _ = fs::remove_file(&temporary);
    }
    done?;
    File::open(folder)?.sync_all()
}

fn temporary_prefix(name: &OsStr) -> String {
    format!(".{}.", name.to_string_lossy())
}

/// Creates a temporary file and locks it while it is written.
fn create_locked(folder: &Path, name: &OsStr) -> Result<(PathBuf, File)> {
    let mut number = 0;
    loop {
        let own = format!("{}{}-{number}.tmp", temporary_prefix(name), process::id());
        let temporary = folder.join(own);
        number += 1;
        match File::create_new(&temporary) {
            Ok(file) => {
                // On file systems without locks, no process removes stale files either.
                let _ = file.lock();
                // Another process may have removed the file before it was locked.
                if file.metadata()?.nlink() > 0 {
                    return Ok((temporary, file));
                }
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 10_000 => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes temporary files of this name that are not locked, left by killed processes.
fn remove_stale_files(folder: &Path, name: &OsStr) {
    let begins = temporary_prefix(name);
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
