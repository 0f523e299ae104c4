// SPDX-License-Identifier: MIT OR Apache-2.0
//! A root with faults put in, so that readers can be shown a machine at its worst.

use std::io::{BufRead, Cursor, Read};

use machine::{Fact, Why};

use crate::{Question, Root, SMALL};

/// Bytes of a stream that a fault can be put into.
const MOST: u64 = 64 << 20;

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Every question ends with this: EIO, EACCES, and so on.
    Refuse(Why),
    /// It is gone, from its folder's listing too.
    Missing,
    /// A file ends after so many bytes.
    Cut(usize),
    /// A file has so many NULs behind its end, as a driver with a fixed buffer gives.
    Padded(usize),
    /// A file's bytes are others, as many as before, made from this seed.
    Noise(u64),
    /// A link that leads to itself.
    LinkLoop,
}

/// Another root with faults put in. The first pattern that fits a path, as it is asked, decides.
pub struct FaultyRoot<'a> {
    inner: &'a dyn Root,
    faults: Vec<(String, Fault)>,
}

impl std::fmt::Debug for FaultyRoot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyRoot").field("faults", &self.faults).finish_non_exhaustive()
    }
}

impl<'a> FaultyRoot<'a> {
    /// A root without faults yet.
    pub fn new(inner: &'a dyn Root) -> Self {
        Self { inner, faults: Vec::new() }
    }

    /// Puts a fault at all paths that fit a pattern, in which `*` stands for any characters,
    /// slashes too.
    #[must_use]
    pub fn with(mut self, pattern: &str, fault: Fault) -> Self {
        self.faults.push((pattern.to_owned(), fault));
        self
    }

    fn fault(&self, path: &str) -> Option<&Fault> {
        self.faults.iter().find(|(pattern, _)| fits(pattern, path)).map(|(_, fault)| fault)
    }

    /// What ends every question about a path.
    fn refusal(&self, path: &str) -> Fact<()> {
        match self.fault(path) {
            Some(Fault::Refuse(why)) => Err(why.clone()),
            Some(Fault::Missing) => Err(Why::Absent),
            Some(Fault::LinkLoop) => Err(Why::Failed("too many links".to_owned())),
            _ => Ok(()),
        }
    }
}

impl Root for FaultyRoot<'_> {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.refusal(path)?;
        let mut bytes = self.inner.read(path)?;
        change(self.fault(path), &mut bytes);
        bytes.truncate(SMALL);
        Ok(bytes)
    }

    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        self.refusal(path)?;
        let stream = self.inner.stream(path)?;
        let fault = self.fault(path);
        if fault.is_none() {
            return Ok(stream);
        }
        let mut bytes = Vec::new();
        stream
            .take(MOST)
            .read_to_end(&mut bytes)
            .map_err(|error| Why::Failed(error.to_string()))?;
        change(fault, &mut bytes);
        Ok(Box::new(Cursor::new(bytes)))
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.refusal(path)?;
        let mut names = self.inner.list(path)?;
        let folder = path.trim_end_matches('/');
        names.retain(|name| self.fault(&format!("{folder}/{name}")) != Some(&Fault::Missing));
        Ok(names)
    }

    fn link(&self, path: &str) -> Fact<String> {
        if self.fault(path) == Some(&Fault::LinkLoop) {
            // A fault harms what is there and makes nothing that is not.
            let is_there = self.inner.link(path).is_ok() || self.inner.mode(path).is_ok();
            let own = path.rsplit('/').next().unwrap_or_default().to_owned();
            return if is_there { Ok(own) } else { Err(Why::Absent) };
        }
        self.refusal(path)?;
        self.inner.link(path)
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        self.refusal(path)?;
        self.inner.resolve(path)
    }

    fn mode(&self, path: &str) -> Fact<u32> {
        self.refusal(path)?;
        self.inner.mode(path)
    }

    fn ask(&self, question: &Question) -> Fact<String> {
        self.inner.ask(question)
    }
}

fn change(fault: Option<&Fault>, bytes: &mut Vec<u8>) {
    match fault {
        Some(Fault::Cut(length)) => bytes.truncate(*length),
        Some(Fault::Padded(nuls)) => bytes.resize(bytes.len() + nuls, 0),
        Some(Fault::Noise(seed)) => {
            // splitmix64, so that a seed gives the same bytes everywhere.
            let mut state = *seed;
            for byte in bytes {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                *byte = (mixed >> 56).to_le_bytes()[0];
            }
        }
        _ => {}
    }
}

/// Whether a path fits a pattern. Linear but for the last `*`, which moves on.
fn fits(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryRoot;

    #[test]
    fn patterns_fit() {
        for (pattern, path, expected) in [
            ("/a", "/a", true),
            ("/a", "/ab", false),
            ("/a*", "/ab/c", true),
            ("*/numa_node", "/sys/x/numa_node", true),
            ("*/cpu*/online", "/sys/cpu/cpu7/online", true),
            ("*/cpu*/online", "/sys/cpu7", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn faults_are_seen_by_every_question() {
        let mut root = MemoryRoot::new();
        root.file("/a/x", "12345")
            .file("/a/y", "12345")
            .file("/a/z", "12345")
            .file("/a/n", "12345");
        root.symlink("/a/l", "x");
        let faulty = FaultyRoot::new(&root)
            .with("/a/x", Fault::Cut(2))
            .with("/a/y", Fault::Padded(3))
            .with("/a/z", Fault::Missing)
            .with("/a/n", Fault::Noise(7))
            .with("/a/l*", Fault::LinkLoop)
            .with("/b*", Fault::Refuse(Why::Denied));
        assert_eq!(faulty.read("/a/x").unwrap(), b"12");
        assert_eq!(faulty.read("/a/y").unwrap(), b"12345\0\0\0");
        assert_eq!(faulty.read("/a/z"), Err(Why::Absent));
        assert_eq!(faulty.list("/a").unwrap(), ["l", "n", "x", "y"]);
        assert_eq!(faulty.link("/a/l").unwrap(), "l");
        assert_eq!(faulty.link("/a/lost"), Err(Why::Absent));
        assert_eq!(faulty.resolve("/a/l"), Err(Why::Failed("too many links".to_owned())));
        assert_eq!(faulty.mode("/b/c"), Err(Why::Denied));
        let noise = faulty.read("/a/n").unwrap();
        assert_eq!((noise.len(), noise == b"12345"), (5, false));
        let mut streamed = Vec::new();
        faulty.stream("/a/n").unwrap().read_to_end(&mut streamed).unwrap();
        assert_eq!(streamed, noise);
    }
}
