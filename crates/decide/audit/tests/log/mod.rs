// SPDX-License-Identifier: MIT OR Apache-2.0
//! A root that notes what it is asked, and after that answers nothing else.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use machine::{Fact, Why};
use root::{Question, Root};
use setting::{Evidence, Part};

/// What a question that was never asked is answered with.
const UNASKED: &str = "the readers never asked this";

/// Passes questions on; once closed, only those that it passed on before.
pub(crate) struct Log<'a> {
    inner: &'a dyn Root,
    asked: Mutex<BTreeSet<String>>,
    is_closed: AtomicBool,
}

impl<'a> Log<'a> {
    pub(crate) fn of(inner: &'a dyn Root) -> Self {
        Self { inner, asked: Mutex::default(), is_closed: AtomicBool::new(false) }
    }

    /// From here on nothing new is answered.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    fn place(&self, path: &str) -> String {
        if let Ok(place) = self.inner.resolve(path) {
            return place;
        }
        // What is absent is so in the folder that it would be in.
        match path.rsplit_once('/') {
            Some((folder, name)) if !folder.is_empty() => format!("{}/{name}", self.place(folder)),
            _ => path.to_owned(),
        }
    }

    /// `read /sys/...` by where it really is; the folder that a name stands in for links.
    fn pass(&self, what: &str, path: &str) -> Fact<()> {
        let place = self.place(path);
        let key = format!("{what} {place}");
        let mut asked = self.asked.lock().map_err(|error| Why::Failed(error.to_string()))?;
        if !self.is_closed.load(Ordering::Relaxed) {
            asked.insert(key);
            return Ok(());
        }
        // What a listing lacks is known to be absent without asking.
        let (folder, name) = path.rsplit_once('/').unwrap_or_default();
        let listing = format!("list {}", self.place(folder));
        let lacks = || self.inner.list(folder).is_ok_and(|names| !names.iter().any(|n| n == name));
        match asked.contains(&key) || (asked.contains(&listing) && lacks()) {
            true => Ok(()),
            false => Err(Why::Failed(UNASKED.to_owned())),
        }
    }

    /// What is wrong with a line that was quoted.
    pub(crate) fn fault(&self, line: &Evidence) -> Option<String> {
        if line.means.as_deref().is_some_and(|means| means.contains(UNASKED)) {
            return Some("it is not in the log".to_owned());
        }
        let Some(content) = &line.content else {
            return line.means.is_none().then(|| "neither content nor reason".to_owned());
        };
        let content = content.trim_end_matches('…');
        match &line.part {
            Part::Start | Part::Line(_) => {
                let bytes = self.inner.read(&line.path).unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes);
                (!text.contains(content)).then(|| "the file does not say so".to_owned())
            }
            Part::Bytes(_) | Part::Express(_) | Part::Extended(..) => {
                let bytes = self.inner.read(&line.path).unwrap_or_default();
                (!stands(&bytes, content)).then(|| "the bytes are others".to_owned())
            }
            _ => None,
        }
    }
}

/// Whether `0x98: 2f 59` is what stands there.
fn stands(bytes: &[u8], said: &str) -> bool {
    let Some((at, said)) = said.trim_start_matches("0x").split_once(": ") else { return false };
    let said: Vec<u8> =
        said.split(' ').filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    let at = usize::from_str_radix(at, 16).unwrap_or(usize::MAX);
    bytes.get(at..).is_some_and(|bytes| !said.is_empty() && bytes.starts_with(&said))
}

impl Root for Log<'_> {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.pass("read", path)?;
        self.inner.read(path)
    }

    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        self.pass("read", path)?;
        self.inner.stream(path)
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.pass("list", path)?;
        self.inner.list(path)
    }

    fn link(&self, path: &str) -> Fact<String> {
        let (folder, name) = path.rsplit_once('/').unwrap_or_default();
        self.pass("link", &format!("{}/{name}", self.place(folder)))?;
        self.inner.link(path)
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        self.inner.resolve(path)
    }

    fn mode(&self, path: &str) -> Fact<u32> {
        self.inner.mode(path)
    }

    fn ask(&self, question: &Question) -> Fact<String> {
        self.pass("ask", &format!("{question:?}"))?;
        self.inner.ask(question)
    }
}
