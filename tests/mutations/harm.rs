// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a seed to faults in files that the readers ask for.

use std::collections::BTreeSet;
use std::fmt;
use std::io::BufRead;
use std::sync::{Mutex, PoisonError};

use machine::{Fact, Why};
use root::fault::{Fault, FaultyRoot};
use root::{Question, Root};

/// Passes questions on and keeps the paths that had an answer.
pub(crate) struct Asked<'a> {
    inner: &'a dyn Root,
    paths: Mutex<BTreeSet<String>>,
}

impl<'a> Asked<'a> {
    /// Listens to what `inner` is asked.
    pub(crate) fn new(inner: &'a dyn Root) -> Self {
        Self { inner, paths: Mutex::default() }
    }

    /// The paths, sorted.
    pub(crate) fn into_paths(self) -> Vec<String> {
        let paths = self.paths.into_inner().unwrap_or_else(PoisonError::into_inner);
        paths.into_iter().collect()
    }

    fn note<T>(&self, path: &str, answer: Fact<T>) -> Fact<T> {
        if answer.is_ok() {
            let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
            paths.insert(path.to_owned());
        }
        answer
    }
}

impl Root for Asked<'_> {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.note(path, self.inner.read(path))
    }
    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        self.note(path, self.inner.stream(path))
    }
    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.note(path, self.inner.list(path))
    }
    fn link(&self, path: &str) -> Fact<String> {
        self.note(path, self.inner.link(path))
    }
    fn resolve(&self, path: &str) -> Fact<String> {
        self.note(path, self.inner.resolve(path))
    }
    fn mode(&self, path: &str) -> Fact<u32> {
        self.note(path, self.inner.mode(path))
    }
    fn ask(&self, question: &Question) -> Fact<String> {
        self.inner.ask(question)
    }
}

/// Whether what is said may be nothing but less, or something else too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Gone, refused, failed, a loop of links: less is known.
    Withheld,
    /// Cut, padded, noise: another text.
    Changed,
}

/// One fault, and the paths that it is at.
#[derive(Debug)]
pub(crate) struct Hurt {
    patterns: Vec<String>,
    fault: Fault,
    /// The paths asked of the unharmed machine that it is at.
    pub(crate) paths: Vec<String>,
}

impl Hurt {
    /// What the fault does to a text.
    pub(crate) fn kind(&self) -> Kind {
        match self.fault {
            Fault::Cut(_) | Fault::Padded(_) | Fault::Noise(_) => Kind::Changed,
            _ => Kind::Withheld,
        }
    }
}

/// A mutation.
#[derive(Debug)]
pub(crate) struct Harm(pub(crate) Vec<Hurt>);

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|hurt| write!(f, " {:?} at {:?};", hurt.fault, hurt.patterns))
    }
}

impl Harm {
    /// The mutation that a seed stands for, on a machine of which these paths are asked.
    pub(crate) fn new(seed: u64, paths: &[String]) -> Self {
        let mut dice = Dice(seed);
        let count = 1 + dice.below(4);
        Self((0..count).map(|_| hurt(&mut dice, paths)).collect())
    }

    /// The root with the faults in it.
    pub(crate) fn put_into<'a>(&self, root: &'a dyn Root) -> FaultyRoot<'a> {
        let all = self.0.iter().flat_map(|hurt| hurt.patterns.iter().map(|p| (p, &hurt.fault)));
        all.fold(FaultyRoot::new(root), |root, (pattern, fault)| root.with(pattern, fault.clone()))
    }
}

fn hurt(dice: &mut Dice, paths: &[String]) -> Hurt {
    let path = dice.pick(paths).cloned().unwrap_or_default();
    let fault = fault(dice);
    let name = path.rsplit('/').next().unwrap_or_default();
    // Mostly one file, sometimes all below a folder, sometimes every file of a name.
    let patterns = match dice.below(8) {
        0 => {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            vec![format!("{folder}/*"), folder]
        }
        1 => vec![format!("*/{name}")],
        _ => vec![path.clone(), format!("{path}/*")],
    };
    let is_in = |asked: &&String| patterns.iter().any(|pattern| fits(pattern, asked));
    let paths = paths.iter().filter(is_in).cloned().collect();
    Hurt { patterns, fault, paths }
}

/// The three forms of pattern that are made here.
fn fits(pattern: &str, path: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => path.ends_with(end),
        (_, Some(start)) => path.starts_with(start),
        _ => pattern == path,
    }
}

fn fault(dice: &mut Dice) -> Fault {
    match dice.below(10) {
        0 => Fault::Refuse(Why::Denied),
        1 => Fault::Refuse(Why::Failed("Input/output error (os error 5)".to_owned())),
        2 => Fault::Refuse(Why::NotSupported),
        3 | 4 => Fault::Missing,
        5 => Fault::LinkLoop,
        6 => Fault::Cut(dice.length()),
        7 => Fault::Padded(1 + dice.length()),
        _ => Fault::Noise(dice.next()),
    }
}

/// splitmix64: the same numbers everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Short ones, where texts end, more often than long ones, where tables do.
    fn length(&mut self) -> usize {
        let bits = 1 + self.below(13);
        usize::try_from(self.next() & ((1 << bits) - 1)).unwrap_or(0)
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let at = self.below(u64::try_from(items.len()).unwrap_or(1));
        items.get(usize::try_from(at).unwrap_or(0))
    }
}
