// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notes what could not be told while something was looked for: what was not found then may be there
//! all the same.

use std::io::BufRead;
use std::sync::{Mutex, PoisonError};

use machine::{Fact, Why};
use root::{Question, Root};
use rustix::io::Errno;

use crate::Kernel;

/// A kernel that is only asked, and whose silence is noted.
pub(crate) struct Noting<'a> {
    kernel: &'a dyn Kernel,
    /// How many questions had no answer, and why the last had none.
    silent: Mutex<(usize, Option<Why>)>,
}

impl<'a> Noting<'a> {
    pub(super) fn new(kernel: &'a dyn Kernel) -> Self {
        Self { kernel, silent: Mutex::default() }
    }

    /// Notes a fact that was asked elsewhere. That something is not there, or not supported, is an
    /// answer; so is EBUSY, which a CPU's frequency files give while it is offline
    /// (drivers/cpufreq/cpufreq.c, `show`).
    pub(crate) fn note<T>(&self, fact: Fact<T>) -> Fact<T> {
        if let Err(why) = &fact
            && is_silence(why)
        {
            let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
            *silent = (silent.0.saturating_add(1), Some(why.clone()));
        }
        fact
    }

    /// What something comes to, and why a question had no answer meanwhile.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> (T, Option<Why>) {
        let (before, _) = self.state();
        let came = work();
        let (after, why) = self.state();
        (came, why.filter(|_| after != before))
    }

    fn state(&self) -> (usize, Option<Why>) {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn is_silence(why: &Why) -> bool {
    match why {
        Why::Absent | Why::NotSupported | Why::Unparsed(_) => false,
        Why::Denied => true,
        Why::Failed(text) => *text != Errno::BUSY.to_string(),
    }
}

impl Root for Noting<'_> {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.note(self.kernel.read(path))
    }

    fn read_with_mode(&self, path: &str) -> (Fact<Vec<u8>>, Fact<u32>) {
        let (bytes, mode) = self.kernel.read_with_mode(path);
        (self.note(bytes), self.note(mode))
    }

    fn head(&self, path: &str, most: usize) -> Fact<Vec<u8>> {
        self.note(self.kernel.head(path, most))
    }

    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        self.note(self.kernel.stream(path))
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.note(self.kernel.list(path))
    }

    fn link(&self, path: &str) -> Fact<String> {
        self.note(self.kernel.link(path))
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        self.note(self.kernel.resolve(path))
    }

    fn mode(&self, path: &str) -> Fact<u32> {
        self.note(self.kernel.mode(path))
    }

    fn ask(&self, question: &Question) -> Fact<String> {
        self.note(self.kernel.ask(question))
    }
}
