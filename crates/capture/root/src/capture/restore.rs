// SPDX-License-Identifier: MIT OR Apache-2.0
//! A capture's tree and its first entry become a root again.

use std::io::Read;

use machine::Fact;

use super::{About, FORMAT, HEADER, Header, OddText};
use crate::memory::Odd;
use crate::{MemoryRoot, Question, Root};

/// Bytes of the first entry. That of a machine of 1,024 CPUs has a few million.
const MOST: u64 = 128 << 20;

/// Why a capture's first entry was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// It is not what it should be.
    #[error("its {HEADER} cannot be read: {0}")]
    Text(String),
    /// A newer nearside made it.
    #[error("its format is {found:?}, and this nearside reads {FORMAT:?}: a newer one made it")]
    Newer {
        /// What it says.
        found: String,
    },
}

impl FormatError {
    /// What to do next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Text(_) => {
                "make the capture again, or unpack it and give the folder without that file"
            }
            Self::Newer { .. } => "take a newer nearside to read it",
        }
    }
}

/// Makes a tree that holds a capture's first entry answer as it was recorded; any other stays.
pub(crate) fn restore(mut root: MemoryRoot) -> Result<(MemoryRoot, Option<About>), FormatError> {
    let Ok(stream) = root.stream(&format!("/{HEADER}")) else { return Ok((root, None)) };
    let mut text = String::new();
    stream
        .take(MOST)
        .read_to_string(&mut text)
        .map_err(|error| FormatError::Text(error.to_string()))?;
    let header = parse(&text)?;
    drop(text);
    root.remove(HEADER);
    let about = header.about.clone();
    root.list_only_what_was_listed();
    apply(&mut root, header);
    Ok((root, Some(about)))
}

fn parse(text: &str) -> Result<Header, FormatError> {
    match serde_json::from_str::<Header>(text) {
        Ok(header) => check_format(&header.format).map(|()| header),
        // A newer format may have changed everything but its name.
        Err(error) => Err(newer(text).unwrap_or_else(|| FormatError::Text(error.to_string()))),
    }
}

/// Looks at the format alone.
fn newer(text: &str) -> Option<FormatError> {
    #[derive(serde::Deserialize)]
    struct Only {
        format: String,
    }
    check_format(&serde_json::from_str::<Only>(text).ok()?.format).err()
}

fn check_format(format: &str) -> Result<(), FormatError> {
    let major = |format: &str| -> Option<u32> {
        let version = format.strip_prefix("capture/")?;
        version.split('.').next()?.parse().ok()
    };
    match (major(format), major(FORMAT)) {
        (Some(found), Some(ours)) if found > ours => {
            Err(FormatError::Newer { found: format.to_owned() })
        }
        (Some(_), _) => Ok(()),
        (None, _) => Err(FormatError::Text(format!("{format:?} is no capture format"))),
    }
}

fn apply(root: &mut MemoryRoot, header: Header) {
    let mut odd = header.odd;
    for (path, names) in header.lists {
        match names {
            None => root.set_listed(&path),
            Some(names) => {
                let said = odd.remove(&path).unwrap_or_default();
                root.folder_if_nothing(&path);
                root.set_odd(&path, said.odd(Some(Ok(names))));
            }
        }
    }
    for (path, said) in odd {
        root.set_odd(&path, said.odd(None));
    }
    for pair in header.answers {
        if let Ok((question, answer)) = serde_json::from_value::<(Question, Fact<String>)>(pair) {
            root.answer(question, answer);
        }
    }
}

impl OddText {
    fn odd(self, list: Option<Fact<Vec<String>>>) -> Odd {
        Odd {
            read: self.read,
            broken: self.broken,
            list: list.or(self.list.map(Err)),
            link: self.link,
            resolve: self.resolve,
            climb: self.climb,
            mode: self.mode,
        }
    }
}
