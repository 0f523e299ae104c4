// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers that a copied machine lacks, from what tools printed there and was kept beside it.
//!
//! A folder of copied files answers no [`Question`]. Support archives keep what `ethtool` printed
//! beside `sys` and `proc`, though: that text becomes the answer which the kernel gave. Where there
//! is no such text, and for every other question, the copy itself is asked. Captures of nearside
//! hold their answers and never come here.

mod ethtool;
mod place;

use std::collections::BTreeMap;
use std::io::BufRead;

use machine::Fact;

use crate::{Question, Root};

pub(crate) use place::gather;

/// What tools said, by the question that it answers.
pub(crate) type Answers = BTreeMap<Question, Fact<String>>;

/// A root with answers that were kept beside it.
struct Said {
    files: Box<dyn Root>,
    answers: Answers,
}

/// A root that answers from `answers` first; the same root where there are none.
pub(crate) fn over(files: Box<dyn Root>, answers: Answers) -> Box<dyn Root> {
    if answers.is_empty() { files } else { Box::new(Said { files, answers }) }
}

impl Root for Said {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.files.read(path)
    }

    fn read_with_mode(&self, path: &str) -> (Fact<Vec<u8>>, Fact<u32>) {
        self.files.read_with_mode(path)
    }

    fn head(&self, path: &str, most: usize) -> Fact<Vec<u8>> {
        self.files.head(path, most)
    }

    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        self.files.stream(path)
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.files.list(path)
    }

    fn link(&self, path: &str) -> Fact<String> {
        self.files.link(path)
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        self.files.resolve(path)
    }

    fn mode(&self, path: &str) -> Fact<u32> {
        self.files.mode(path)
    }

    fn ask(&self, question: &Question) -> Fact<String> {
        match self.answers.get(question) {
            Some(answer) => answer.clone(),
            None => self.files.ask(question),
        }
    }
}

#[cfg(test)]
mod tests;
