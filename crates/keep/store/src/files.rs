// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of runs: named by their id, in a folder a month.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use record::Run;

use crate::Error;
use crate::disk::Disk;

/// The longest file of a run that is read: one with a day of seconds and full histograms is far
/// below.
const MOST: u64 = 64 << 20;
/// The longest id.
const LONGEST: usize = 100;
/// How old an unfinished file must be before a process that is not seen counts as gone: it may be in
/// another container, where nothing takes so long.
const SOON: Duration = Duration::from_secs(3600);
/// What begins the names of files that are being written.
const UNFINISHED: &str = ".new-";

/// The folder of all.
pub(crate) fn top(store: &Path) -> PathBuf {
    store.join("runs")
}

/// Whether an id can be a file's name: letters, digits, `-`, `_` and `.`, the last not first.
pub(crate) fn is_id(id: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !id.is_empty() && id.len() <= LONGEST && !id.starts_with('.') && id.chars().all(is_fine)
}

/// The month's folder: the first six digits of an id, which begins with its day; `other` where it
/// does not.
pub(crate) fn month(id: &str) -> &str {
    let is_digits = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    id.get(..6).filter(is_digits).unwrap_or("other")
}

/// Where the file of a run is.
pub(crate) fn path(store: &Path, id: &str) -> PathBuf {
    top(store).join(month(id)).join(format!("{id}.json"))
}

/// The id that a file's name is of; none where it is no file of a run.
pub(crate) fn id_of(name: &OsStr) -> Option<&str> {
    name.to_str()?.strip_suffix(".json").filter(|id| is_id(id))
}

/// Makes a month's folder and those above it, and waits until their names are safe from a loss of
/// power: a file is no safer than the way to it. Those that are there may have been made a moment ago
/// by a process that was cut off before it waited.
///
/// # Errors
/// One of them cannot be made or brought to disk.
pub(crate) fn prepare(disk: &mut dyn Disk, store: &Path, month: &str) -> Result<(), Error> {
    let folder = top(store).join(month);
    let own = [folder.clone(), top(store), store.to_owned()];
    let above = store.ancestors().skip(1).take_while(|above| !is_there(above));
    let all: Vec<&Path> = own.iter().map(PathBuf::as_path).chain(above).collect();
    for folder in all.into_iter().rev() {
        disk.make_folder(folder).map_err(Error::io("make the folder", folder))?;
        let above = folder.parent().filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        match disk.sync_folder(above) {
            // A folder of somebody else's that may be entered and not read, or of a file system that
            // has nothing to bring to disk.
            Err(error) if is_no_matter(error.kind()) => {}
            synced => synced.map_err(Error::io("write", above))?,
        }
    }
    Ok(())
}

fn is_no_matter(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem};
    matches!(kind, PermissionDenied | InvalidInput | ReadOnlyFilesystem)
}

/// Whether a folder is there; the one that a relative path begins in is.
fn is_there(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || folder.exists()
}

/// Writes a run's file into a folder that is prepared. What is there of that id is left alone.
///
/// # Errors
/// The file cannot be written, or is there.
pub(crate) fn write(disk: &mut dyn Disk, store: &Path, id: &str, text: &str) -> Result<(), Error> {
    let path = path(store, id);
    let folder = path.parent().unwrap_or(store);
    let unfinished = folder.join(format!("{UNFINISHED}{id}-{}", std::process::id()));
    // Left by a process of the same number that was cut off.
    match disk.remove(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io("remove", &unfinished)(error));
        }
        _ => {}
    }
    let written = keep(disk, &unfinished, &path, folder, text);
    if written.is_err() {
        // It may be that nothing can be removed either; the next write of it tries again.
        let _ = disk.remove(&unfinished);
    }
    written
}

fn keep(
    disk: &mut dyn Disk,
    unfinished: &Path,
    path: &Path,
    folder: &Path,
    text: &str,
) -> Result<(), Error> {
    disk.write_new(unfinished, text.as_bytes()).map_err(Error::io("write", unfinished))?;
    disk.sync(unfinished).map_err(Error::io("write", unfinished))?;
    disk.rename_new(unfinished, path).map_err(Error::io("write", path))?;
    disk.sync_folder(folder).map_err(Error::io("write", folder))
}

/// Takes away what a process left that was cut off while it wrote into a month's folder. What one
/// that lives is writing is left alone; nobody knows of another machine's, so that it is given a day.
pub(crate) fn sweep(store: &Path, month: &str) {
    const A_DAY: Duration = Duration::from_secs(86_400);
    let entries = fs::read_dir(top(store).join(month)).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED)) else {
            continue;
        };
        let process = name.rsplit('-').next().and_then(|number| number.parse::<u32>().ok());
        let age = entry.metadata().and_then(|there| there.modified()).ok();
        let age = age.and_then(|at| at.elapsed().ok()).unwrap_or_default();
        let lives = process.is_some_and(|number| Path::new(&format!("/proc/{number}")).exists());
        if age > A_DAY || (!lives && age > SOON) {
            // Another process may be faster.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The bytes of a run's file.
pub(crate) fn text(path: &Path) -> Result<String, Error> {
    let failed = |error| Error::io("read", path)(error);
    let there = fs::symlink_metadata(path).map_err(failed)?;
    if !there.is_file() {
        return Err(Error::unread(path, "it is no plain file"));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MOST {
        return Err(Error::unread(path, format!("it is longer than {MOST} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| Error::unread(path, "it is no UTF-8"))
}

/// A run from its file, whose name must be its id.
pub(crate) fn read(path: &Path) -> Result<Run, Error> {
    let run = Run::parse(&text(path)?).map_err(|error| Error::unread(path, error))?;
    if path.file_name().and_then(id_of) == Some(run.id.as_str()) {
        Ok(run)
    } else {
        Err(Error::unread(path, format!("the run in it is called {:?}", run.id)))
    }
}

/// A month's folder as it is now.
pub(crate) struct Month {
    /// Its name.
    pub(crate) name: String,
    /// When a name in it last changed, in ns since 1970; it tells whether the index knows all.
    pub(crate) changed_ns: i64,
}

/// The months that there are, by name; none where there is no store.
pub(crate) fn months(store: &Path) -> Result<Vec<Month>, Error> {
    let top = top(store);
    let entries = match fs::read_dir(&top) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::io("list", &top))?,
    };
    let mut months = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Error::io("list", &top))?;
        let there = entry.metadata().map_err(Error::io("list", &top))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if there.is_dir() && (name == "other" || month(&name) == name) {
            let changed_ns = there.mtime().saturating_mul(1_000_000_000);
            months.push(Month { name, changed_ns: changed_ns.saturating_add(there.mtime_nsec()) });
        }
    }
    months.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(months)
}

/// The ids in a month's folder, in order.
pub(crate) fn ids(store: &Path, name: &str) -> Result<Vec<String>, Error> {
    let folder = top(store).join(name);
    let failed = |error| Error::io("list", &folder)(error);
    let mut ids = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?.file_name();
        ids.extend(id_of(&entry).filter(|id| month(id) == name).map(str::to_owned));
    }
    ids.sort();
    Ok(ids)
}
