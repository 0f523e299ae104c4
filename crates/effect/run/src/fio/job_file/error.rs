// SPDX-License-Identifier: MIT OR Apache-2.0
//! What of a job file is not understood, by its line.

use std::fmt;

/// Why a job file is no workload for the own engine. fio itself may well run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotTaken {
    /// The line, from 1; none where the option comes from elsewhere, as from a report.
    pub line: Option<usize>,
    /// The section; none above the first.
    pub section: Option<String>,
    /// The option; none where it is about the file or the section as a whole.
    pub option: Option<String>,
    /// What is wrong with it.
    pub what: String,
}

impl std::error::Error for NotTaken {}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match (&self.option, &self.section) {
            (Some(option), Some(section)) => write!(f, "{option} of [{section}]: ")?,
            (Some(option), None) => write!(f, "{option}: ")?,
            (None, Some(section)) => write!(f, "[{section}]: ")?,
            (None, None) => {}
        }
        f.write_str(&self.what)
    }
}
