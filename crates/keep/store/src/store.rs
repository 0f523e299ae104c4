// SPDX-License-Identifier: MIT OR Apache-2.0
//! The store: files and the index together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use record::Run;

use crate::disk::{Disk, RealDisk};
use crate::index::{self, Index, Wanted};
use crate::{Entry, Error, files};

/// How old a change must be for the folder's time to tell it from the next one: far more than the
/// kernel's clock of files steps by (a tick, 10 ms at most), and than clocks of NFS servers differ.
const SETTLED: Duration = Duration::from_secs(2);

/// Ids that are named where a beginning fits several.
const NAMED: u32 = 1000;

/// A store of runs.
pub struct Store {
    folder: PathBuf,
    index: Index,
    disk: Box<dyn Disk>,
    /// Months whose folders are prepared.
    prepared: BTreeSet<String>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Whether a run was new to a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It was.
    New,
    /// The same run was there.
    There,
}

/// A file in the store that is no record of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub what: String,
}

impl Store {
    /// Opens the store in a folder, which is made when a run is added. An index that is missing,
    /// spoilt, or behind the files is brought up to them.
    ///
    /// # Errors
    /// The folder or the index cannot be read.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        Self::on(folder, Box::new(RealDisk))
    }

    pub(crate) fn on(folder: &Path, disk: Box<dyn Disk>) -> Result<Self, Error> {
        let index = Index::open(&index_path(folder))?;
        let mut store = Self { folder: folder.to_owned(), index, disk, prepared: BTreeSet::new() };
        store.again_where_spoilt(Self::catch_up)?;
        Ok(store)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps a run. When this returns, it is safe from a loss of power.
    ///
    /// # Errors
    /// The file cannot be written, or another run has its id.
    pub fn add(&mut self, run: &Run) -> Result<Added, Error> {
        Ok(self.add_all(std::slice::from_ref(run))?.first().copied().unwrap_or(Added::There))
    }

    /// Keeps several runs; the index learns of them at once.
    ///
    /// # Errors
    /// As [`Store::add`], of the first one that failed; all others are kept.
    pub fn add_all(&mut self, runs: &[Run]) -> Result<Vec<Added>, Error> {
        self.add_each(runs).into_iter().collect()
    }

    /// Keeps several runs, and tells what became of each: as [`Store::add`].
    pub fn add_each(&mut self, runs: &[Run]) -> Vec<Result<Added, Error>> {
        let added: Vec<Result<Added, Error>> = runs.iter().map(|run| self.write(run)).collect();
        let kept = runs.iter().zip(&added).filter(|(_, added)| added.is_ok());
        let kept: Vec<&Run> = kept.map(|(run, _)| run).collect();
        // They are kept whatever becomes of the index: the folder's time tells the next one who opens
        // it that it is behind.
        let _ = self.again_where_spoilt(|store| store.note(&kept));
        added
    }

    /// What [`Store::add`] would do, without doing it.
    ///
    /// # Errors
    /// As [`Store::add`], but for what writing runs into.
    pub fn would_add(&self, run: &Run) -> Result<Added, Error> {
        if !files::is_id(&run.id) {
            return Err(Error::Id(run.id.clone()));
        }
        let path = files::path(&self.folder, &run.id);
        run.check().map_err(|error| Error::unread(&path, error))?;
        match path.exists() {
            false => Ok(Added::New),
            true => match files::read(&path) {
                Ok(there) if there == *run => Ok(Added::There),
                _ => Err(Error::Taken(run.id.clone())),
            },
        }
    }

    fn note(&mut self, runs: &[&Run]) -> Result<(), Error> {
        self.in_place()?;
        self.index.at_once(|rows| {
            for run in runs {
                rows.put(&Entry::from(*run))?;
                rows.set_month(files::month(&run.id), None)?;
            }
            Ok(())
        })
    }

    /// An index in memory, for there was no folder, becomes one in the folder.
    fn in_place(&mut self) -> Result<(), Error> {
        let path = index_path(&self.folder);
        if self.folder.is_dir() && !path.exists() {
            self.index = Index::open(&path)?;
            self.catch_up()?;
        }
        Ok(())
    }

    fn write(&mut self, run: &Run) -> Result<Added, Error> {
        if self.would_add(run)? == Added::There {
            return Ok(Added::There);
        }
        let path = files::path(&self.folder, &run.id);
        let text = serde_json::to_string(run).map_err(|error| Error::unread(&path, error))?;
        let text = format!("{text}\n");
        let month = files::month(&run.id);
        if !self.prepared.contains(month) {
            files::prepare(&mut *self.disk, &self.folder, month)?;
            files::sweep(&self.folder, month);
            self.prepared.insert(month.to_owned());
        }
        files::write(&mut *self.disk, &self.folder, &run.id, &text)?;
        Ok(Added::New)
    }

    /// Runs for a list, the newest first.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn list(&mut self, wanted: &Wanted) -> Result<Vec<Entry>, Error> {
        self.again_where_spoilt(|store| store.index.list(wanted))
    }

    /// How many runs a list without its limit would show.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn count(&mut self, wanted: &Wanted) -> Result<u64, Error> {
        self.again_where_spoilt(|store| store.index.count(wanted))
    }

    /// The id that a person means: a whole one, the beginning of only one, or `last`.
    ///
    /// # Errors
    /// None is meant, or several could be.
    pub fn find(&mut self, name: &str) -> Result<String, Error> {
        let absent = || Error::Absent(name.to_owned());
        if name == "last" {
            return self.again_where_spoilt(|store| store.index.newest())?.ok_or_else(absent);
        }
        if !files::is_id(name) {
            return Err(absent());
        }
        let found = self.again_where_spoilt(|store| store.index.beginning(name, NAMED))?;
        match found.as_slice() {
            [] => Err(absent()),
            [only] => Ok(only.clone()),
            [first, ..] if first == name => Ok(first.clone()),
            several => Err(Error::Ambiguous(name.to_owned(), several.len())),
        }
    }

    /// A run, from its file.
    ///
    /// # Errors
    /// Its file cannot be read or is no record of it.
    pub fn read(&self, id: &str) -> Result<Run, Error> {
        if !files::is_id(id) {
            return Err(Error::Absent(id.to_owned()));
        }
        files::read(&files::path(&self.folder, id))
    }

    /// Takes a run away for good.
    ///
    /// # Errors
    /// Its file cannot be removed.
    pub fn remove(&mut self, id: &str) -> Result<(), Error> {
        if !files::is_id(id) {
            return Err(Error::Absent(id.to_owned()));
        }
        let path = files::path(&self.folder, id);
        self.disk.remove(&path).map_err(Error::io("remove", &path))?;
        let folder = path.parent().unwrap_or(&self.folder);
        self.disk.sync_folder(folder).map_err(Error::io("write", folder))?;
        self.again_where_spoilt(|store| {
            store.index.at_once(|rows| {
                rows.remove(id)?;
                rows.set_month(files::month(id), None)
            })
        })
    }

    /// Files that are no record of a run.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn unread(&mut self) -> Result<Vec<Unread>, Error> {
        let folder = self.folder.clone();
        let found = self.again_where_spoilt(|store| store.index.unread())?;
        let unread =
            |(id, what): (String, String)| Unread { path: files::path(&folder, &id), what };
        Ok(found.into_iter().map(unread).collect())
    }

    /// Makes the index again from the files.
    ///
    /// # Errors
    /// The folder cannot be read or the index cannot be written.
    pub fn rebuild(&mut self) -> Result<(), Error> {
        self.again_where_spoilt(|store| {
            store.index.at_once(|rows| rows.clear())?;
            store.catch_up()
        })
    }

    /// Does something with the index, once more with a new one where it turns out to be spoilt.
    fn again_where_spoilt<T>(
        &mut self,
        act: impl Fn(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match act(self) {
            Err(error) if index::is_spoilt(&error) => {
                self.index = Index::afresh(&index_path(&self.folder))?;
                self.catch_up()?;
                act(self)
            }
            result => result,
        }
    }

    /// Brings the index up to the files of the months that have changed since.
    fn catch_up(&mut self) -> Result<(), Error> {
        let months = files::months(&self.folder)?;
        let mut known = self.index.months()?;
        let is_known = |known: &[(String, Option<i64>)], month: &files::Month| {
            known.iter().any(|(name, at)| *name == month.name && *at == Some(month.changed_ns))
        };
        let is_gone = |name: &str| !months.iter().any(|month| month.name == name);
        let is_behind = known.iter().any(|(name, _)| is_gone(name))
            || months.iter().any(|month| !is_known(&known, month));
        if is_behind && self.index.is_read_only() {
            // Somebody else's store: what its index lacks is known to this process only.
            self.index = Index::in_memory(&index_path(&self.folder))?;
            known.clear();
        }
        for (name, _) in known.iter().filter(|(name, _)| is_gone(name)) {
            let ids = self.index.ids(name)?;
            self.index.at_once(|rows| {
                ids.iter().try_for_each(|id| rows.remove(id))?;
                rows.forget_month(name)
            })?;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let behind = months.iter().filter(|month| !is_known(&known, month));
        behind.into_iter().try_for_each(|month| self.catch_up_month(month, now))?;
        self.read_again()
    }

    /// Files that could not be read can be readable now, without their folder having changed: another
    /// owner, another version of this program, a disk that answers again.
    fn read_again(&mut self) -> Result<(), Error> {
        let mut found = Vec::new();
        for (id, what) in self.index.unread()? {
            match files::read(&files::path(&self.folder, &id)) {
                Ok(run) => found.push((id, Ok(run))),
                Err(error) => {
                    let now = unread(error);
                    found.extend((now != what).then_some((id, Err(now))));
                }
            }
        }
        if found.is_empty() || self.index.is_read_only() {
            return Ok(());
        }
        self.index.at_once(|rows| {
            found.iter().try_for_each(|(id, read)| match read {
                Ok(run) => rows.put(&Entry::from(run)),
                Err(what) => rows.put_unread(id, what),
            })
        })
    }

    fn catch_up_month(&mut self, month: &files::Month, now: Duration) -> Result<(), Error> {
        // In this order: a run that another process adds meanwhile is then seen once more, where in
        // the other it would look like one that was removed.
        let known = self.index.ids(&month.name)?;
        let there = files::ids(&self.folder, &month.name)?;
        let is_new = |id: &&String| known.binary_search(id).is_err();
        let is_gone = |id: &&String| there.binary_search(id).is_err();
        let folder = &self.folder;
        // Times that the folder may have again after the next change prove nothing.
        let changed = Duration::from_nanos(u64::try_from(month.changed_ns).unwrap_or(u64::MAX));
        let is_settled = changed.saturating_add(SETTLED) < now;
        self.index.at_once(|rows| {
            for id in there.iter().filter(is_new) {
                match files::read(&files::path(folder, id)) {
                    Ok(run) => rows.put(&Entry::from(&run))?,
                    Err(error) => rows.put_unread(id, &unread(error))?,
                }
            }
            known.iter().filter(is_gone).try_for_each(|id| rows.remove(id))?;
            rows.set_month(&month.name, is_settled.then_some(month.changed_ns))
        })
    }
}

/// Why a file is no record of a run, beside its path.
fn unread(error: Error) -> String {
    match error {
        Error::Unread { what, .. } => what,
        error => error.to_string(),
    }
}

fn index_path(folder: &Path) -> PathBuf {
    folder.join("index.sqlite")
}
