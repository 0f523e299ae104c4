// SPDX-License-Identifier: MIT OR Apache-2.0
//! A root that passes every question on and keeps the answer.
//!
//! What readers ask is what a capture holds, so the two cannot drift. A question asked again gets
//! the answer that was kept, under whatever path it is asked: files are kept where they really
//! are, and the links on the way beside them. So a capture replays as one moment, and is a tree
//! that other tools can read.

mod record;
mod tee;

use std::io::BufRead;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machine::{Fact, Why};

pub use record::Record;
pub(crate) use record::{Said, Shape, Tree};

use crate::memory::failed;
use crate::{Question, Root, SMALL};

/// Links followed in one path; more than Linux follows.
const MAX_LINKS: usize = 40;

/// An answer that was kept, or where it is to be.
enum Known<T> {
    Is(T),
    Not(u32),
}

/// Passes every question to another root, and keeps the answers.
pub struct Recorder<'a> {
    inner: &'a dyn Root,
    record: Mutex<Record>,
}

impl std::fmt::Debug for Recorder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl<'a> Recorder<'a> {
    /// Records what `inner` is asked from now on.
    pub fn new(inner: &'a dyn Root) -> Self {
        Self { inner, record: Mutex::new(Record::default()) }
    }

    /// What was recorded.
    pub fn into_record(self) -> Record {
        self.record.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was recorded, for as long as the guard lives.
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a path really is, every link followed.
    fn place(&self, path: &str) -> Fact<u32> {
        self.place_within(path, MAX_LINKS)
    }

    fn place_within(&self, path: &str, links: usize) -> Fact<u32> {
        let record = self.record();
        if let Some(place) = record.place(path) {
            return place;
        }
        let shortened = record.shortened(path);
        drop(record);
        let real = self.inner.resolve(shortened.as_deref().unwrap_or(path));
        let place = match &real {
            Ok(real) => Ok(self.record().node(real)),
            Err(why) => Err(why.clone()),
        };
        if real.as_deref() != Ok(path) && links > 0 {
            self.keep_links(path, &place, links);
        }
        self.record().keep_place(path, place)
    }

    /// Keeps the links that lead from a path to its place, or to nowhere.
    fn keep_links(&self, path: &str, place: &Fact<u32>, links: usize) {
        let Some((above, name)) = split(path) else {
            // `x/..`: replaying it walks through `x`, which may be known without letting anybody
            // through: a file, or a folder that may not be searched.
            if let Some((above, name)) = path.trim_end_matches('/').rsplit_once('/') {
                let from = self.place_within(above, links - 1);
                if let (Ok(from), "..", Err(why)) = (from, name, place) {
                    self.record().keep_climb(from, why);
                }
            }
            return;
        };
        let Ok(above) = self.place_within(above, links - 1) else { return };
        let spot = self.record().child(above, name);
        if place.as_ref() == Ok(&spot) {
            return;
        }
        match self.inner.link(path) {
            Ok(target) => {
                let folder = self.record().path(above);
                let _ = self.record().keep_link(spot, Ok(target.as_str().into()));
                self.record().move_file(spot, place.as_ref().ok().copied());
                let next = join(&folder, &target);
                let _ = self.place_within(&next, links - 1);
            }
            Err(_) => self.record().keep_refusal(spot, place.as_ref().err()),
        }
    }

    /// Where a path is, its last part not followed.
    fn spot(&self, path: &str) -> Fact<u32> {
        match split(path) {
            None => self.place(path),
            Some((above, name)) => {
                let above = self.place(above)?;
                Ok(self.record().child(above, name))
            }
        }
    }

    /// Keeps a file's first `most` bytes, and gives what was kept first.
    fn keep_file(&self, path: &str, spot: u32, bytes: Fact<Vec<u8>>, most: usize) -> Fact<Vec<u8>> {
        let mut record = self.record();
        let kept = record.keep_file(spot, bytes, most);
        if record.is_link(spot) {
            // Another thread saw meanwhile that it is a link.
            drop(record);
            let place = self.place(path);
            self.record().move_file(spot, place.ok());
        }
        kept
    }

    /// Where what a path names is kept: its spot, or what a link known to be there leads to.
    fn target(&self, path: &str) -> Fact<u32> {
        let spot = self.spot(path)?;
        let is_link = self.record().is_link(spot);
        if is_link { self.place(path) } else { Ok(spot) }
    }

    /// What is known of what a path names, or else where it is kept. One look at the record, where
    /// its folder's place is known.
    fn known<T>(&self, path: &str, of: impl Fn(&Record, u32) -> Option<T>) -> Fact<Known<T>> {
        let mut record = self.record();
        let spot = match record.target(path) {
            Some(spot) => spot?,
            None => {
                drop(record);
                let spot = self.target(path)?;
                record = self.record();
                spot
            }
        };
        Ok(of(&record, spot).map_or(Known::Not(spot), Known::Is))
    }
}

impl Root for Recorder<'_> {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        let spot = match self.known(path, |record, spot| record.file_head(spot, SMALL))? {
            Known::Is(said) => return said,
            Known::Not(spot) => spot,
        };
        let bytes = self.inner.read(path);
        self.keep_file(path, spot, bytes, SMALL)
    }

    fn read_with_mode(&self, path: &str) -> (Fact<Vec<u8>>, Fact<u32>) {
        let spot = match self.known(path, Record::file_with_mode) {
            Ok(Known::Is(known)) => return known,
            Ok(Known::Not(spot)) => spot,
            Err(why) => return (Err(why.clone()), Err(why)),
        };
        let (bytes, mode) = self.inner.read_with_mode(path);
        let mode = self.record().keep_mode(spot, mode);
        (self.keep_file(path, spot, bytes, SMALL), mode)
    }

    fn head(&self, path: &str, most: usize) -> Fact<Vec<u8>> {
        let spot = match self.known(path, |record, spot| record.file_head(spot, most))? {
            Known::Is(said) => return said,
            Known::Not(spot) => spot,
        };
        let bytes = self.inner.head(path, most);
        self.keep_file(path, spot, bytes, most)
    }

    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        let spot = match self.known(path, Record::file_whole)? {
            Known::Is(said) => return said,
            Known::Not(spot) => spot,
        };
        match self.inner.stream(path) {
            Ok(inner) => Ok(Box::new(tee::Tee::new(inner, &self.record, spot))),
            Err(why) => {
                self.keep_file(path, spot, Err(why.clone()), SMALL)?;
                Err(why)
            }
        }
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        let place = self.place(path)?;
        if let Some(said) = self.record().list(place) {
            return said;
        }
        let names = self.inner.list(path);
        self.record().keep_list(place, names)
    }

    fn link(&self, path: &str) -> Fact<String> {
        let spot = self.spot(path)?;
        if let Some(said) = self.record().link(spot) {
            return said;
        }
        let target: Fact<Arc<str>> = self.inner.link(path).map(|target| target.as_str().into());
        let answer = self.record().keep_link(spot, target);
        if answer.is_ok() {
            // What was read through it before it was known for a link lies where it leads.
            let place = self.place(path);
            self.record().move_file(spot, place.ok());
        }
        answer
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        let place = self.place(path)?;
        Ok(self.record().path(place))
    }

    fn mode(&self, path: &str) -> Fact<u32> {
        let spot = match self.known(path, Record::mode)? {
            Known::Is(said) => return said,
            Known::Not(spot) => spot,
        };
        let mode = self.inner.mode(path);
        self.record().keep_mode(spot, mode)
    }

    fn ask(&self, question: &Question) -> Fact<String> {
        if let Some(said) = self.record().answer(question) {
            return said;
        }
        let answer = self.inner.ask(question);
        self.record().keep_answer(question, answer)
    }
}

/// A path's folder and last part; none for `/` and where the last part is no name.
fn split(path: &str) -> Option<(&str, &str)> {
    let path = path.trim_end_matches('/');
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let above = if above.is_empty() { "/" } else { above };
    (!matches!(name, "" | "." | "..")).then_some((above, name))
}

/// Where a link in a folder leads. The folder's path has no links in it, so that `..` at the
/// beginning of the target takes away its last part.
fn join(folder: &str, target: &str) -> String {
    let (mut folder, mut target) = (folder.trim_end_matches('/'), target);
    if target.starts_with('/') {
        return target.to_owned();
    }
    while let Some(rest) = target.strip_prefix("../") {
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        target = rest.trim_start_matches('/');
    }
    format!("{folder}/{target}")
}

/// The failure of a stream, as a reader behind it saw it.
pub(crate) fn stream_failure(error: &std::io::Error) -> Why {
    let failed = failed(std::io::Error::new(error.kind(), error.to_string()));
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => Why::Denied,
        _ => failed,
    }
}

#[cfg(test)]
mod tests;
