// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an output of fio is not read.

/// Why an output of fio is not read at all. An output that is read may still be of a failed run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no JSON document in it.
    #[error("no JSON document of fio in it: {0}")]
    None(String),
    /// It is no JSON.
    #[error("line {line}: {what}")]
    Broken {
        /// Counted from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// The version writes other units under the same names.
    #[error("{0} counts latencies in microseconds and io_bytes in KiB; read are fio-3.0 and newer")]
    Version(String),
    /// A field is not what fio writes there.
    #[error("{path}: {what}")]
    Field {
        /// As `jobs[0].read.iops`.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// Each number may be, and all of them together not.
    #[error("the numbers contradict each other: {0}")]
    Contradiction(String),
}

impl Refused {
    /// What a text without a document holds instead.
    pub(super) fn none(text: &str) -> Self {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        Self::None(match first {
            None => "it is empty, as where fio refuses an option".to_owned(),
            Some(line) if is_terse(line) => {
                "these are terse lines; run fio with --output-format=json+".to_owned()
            }
            Some(line) => {
                let line: String = line.chars().take(120).collect();
                format!("it begins with {line:?}; run fio with --output-format=json+")
            }
        })
    }

    pub(super) fn field(path: &str, what: impl Into<String>) -> Self {
        Self::Field { path: path.to_owned(), what: what.into() }
    }
}

/// `3;fio-3.33;x;0;0;...`
fn is_terse(line: &str) -> bool {
    line.split(';').nth(1).is_some_and(|version| version.starts_with("fio-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_instead_is_said() {
        for (text, wanted) in [
            ("", "empty"),
            ("\n \n", "empty"),
            ("3;fio-3.33;x;0;0;1", "terse"),
            ("fio: engine libfoo not loadable\n", "\"fio: engine libfoo not loadable\""),
        ] {
            let error = Refused::none(text).to_string();
            assert!(error.contains(wanted), "{text:?}: {error}");
        }
    }
}
