// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a trial needs of the machine that it runs on.

use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::{Failed, Trial};

/// Something that a machine may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The captures of real machines.
    Captures,
    /// A program on the PATH.
    Tool(&'static str),
    /// The user is root.
    Root,
}

impl Need {
    /// Why the need is not met here; none where it is.
    fn missing(self) -> Option<String> {
        match self {
            Self::Captures => crate::shared().is_none().then(|| "no captures folder".to_owned()),
            Self::Tool(tool) => (!on_path(tool)).then(|| format!("no {tool}")),
            Self::Root => (!is_root()).then(|| "not root".to_owned()),
        }
    }
}

fn on_path(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").stderr(Stdio::null()).output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0") && Path::new("/").exists()
}

/// A trial that is ignored, with the reason shown, where one of its needs is not met.
pub fn trial(
    name: impl Into<String>,
    needs: &[Need],
    body: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    trial_unless(name, needs.iter().find_map(|need| need.missing()), body)
}

/// A trial that is ignored, with the reason shown, where something is missing.
pub fn trial_unless(
    name: impl Into<String>,
    missing: Option<String>,
    body: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    match missing {
        None => Trial::test(name, body),
        Some(reason) if std::env::var_os("NEARSIDE_REQUIRE_ALL").is_some() => {
            Trial::test(name, move || Err(format!("cannot run: {reason}").into()))
        }
        Some(reason) => ignored(name, reason),
    }
}

/// A trial that is never run here, whatever is required: its tier was not asked for.
pub fn ignored(name: impl Into<String>, reason: impl Into<String>) -> Trial {
    Trial::test(name, || Ok(())).with_kind(reason).with_ignored_flag(true)
}
