// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the verbs that change a machine share: the live kernel, the journal, and their errors.

use std::path::{Path, PathBuf};
use std::time::Duration;

use apply::ApplyError;
use journal::{Journal, JournalError, Transaction, Wait};
use root::LiveRoot;

use crate::args::{Changing, Common};
use crate::expected::Expected;
use crate::{source, terminal};

/// Where the journal lies unless told otherwise.
const JOURNAL: &str = "/var/lib/nearside/journal";

/// The machine that is changed: never a replayed one.
pub(crate) fn kernel(common: &Common) -> Result<LiveRoot, Expected> {
    if common.from.is_some() {
        let what = "a captured machine takes no changes: apply, verify, revert and persist are \
                    about this one";
        let help = "leave --from out, or look at what would be done: nearside plan --from …";
        return Err(Expected::usage(what, help));
    }
    source::live()
}

/// Changing a machine is root's.
pub(crate) fn demand_root(verb: &str) -> Result<(), Expected> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let help = format!("sudo nearside {verb} …; --dry-run prints a script and needs no root");
    Err(Expected::precondition("only root may change the machine", help))
}

/// Where the journal lies, from the top: what takes a change back starts in another folder.
pub(crate) fn path(changing: &Changing) -> PathBuf {
    let path = changing.journal.as_deref().unwrap_or(Path::new(JOURNAL));
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The journal, held by this process alone. Another nearside is waited for unless `--no-wait`.
pub(crate) fn journal(changing: &Changing) -> Result<Journal, Expected> {
    let path = path(changing);
    if changing.no_wait {
        return Journal::open(&path, Wait::Refuse).map_err(|error| of_journal(&path, &error));
    }
    let mut tell = |process: Option<u32>| {
        let who = process.map_or_else(String::new, |id| format!(" (process {id})"));
        terminal::hint(&format!("waiting for another nearside{who} that is changing this machine"));
    };
    Journal::open(&path, Wait::Tell(&mut tell)).map_err(|error| of_journal(&path, &error))
}

/// The transactions of the journal, which is not held.
pub(crate) fn look(changing: &Changing) -> Result<Vec<Transaction>, Expected> {
    let path = path(changing);
    Journal::look(&path).map_err(|error| of_journal(&path, &error))
}

/// Which journal it is stands first: there may be several.
fn of_journal(path: &Path, error: &JournalError) -> Expected {
    let what = match error {
        JournalError::Io { .. } | JournalError::Held { .. } => error.to_string(),
        error => format!("{}: {error}", path.display()),
    };
    Expected::precondition(what, error.help())
}

/// This moment, as the journal holds it.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A moment after this one, as the journal holds it.
pub(crate) fn later(after: Duration) -> String {
    let now = jiff::Timestamp::now();
    let then = now.checked_add(jiff::SignedDuration::try_from(after).unwrap_or_default());
    then.unwrap_or(now).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The command as typed.
pub(crate) fn command() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("nearside".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

impl From<ApplyError> for Expected {
    fn from(error: ApplyError) -> Self {
        let (what, mut help) = (error.to_string(), error.help().to_owned());
        if let ApplyError::NothingOf { asked, known } = &error
            && let Some(near) = catalogue::nearest(asked, known.iter().map(String::as_str)).first()
        {
            help = format!("did you mean {near:?}? {help}");
        }
        match error {
            ApplyError::LeftBehind(_) => Self::Stuck { what, help },
            ApplyError::TakenBack(_) => Self::Undone { what, help },
            ApplyError::NoTransaction(_)
            | ApplyError::NothingOf { .. }
            | ApplyError::SeveralWait(_) => Self::Usage { what, help },
            _ => Self::Precondition { what, help },
        }
    }
}

impl From<JournalError> for Expected {
    fn from(error: JournalError) -> Self {
        Self::precondition(error.to_string(), error.help())
    }
}
