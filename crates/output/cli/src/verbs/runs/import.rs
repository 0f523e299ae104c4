// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside runs import`: outputs of fio and gdsio, and runs of another store, told apart by what is
//! in them.

use std::io::Read as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use record::{Outcome, Run};
use run::{fio, gdsio};
use store::{Added, Store};

use crate::args::RunsImport;
use crate::expected::{Ended, Expected};
use crate::{subject, terminal};

/// The longest file that is read: fio with a status report each second for a day stays below.
const MOST: u64 = 1 << 30;

/// A file or a run that is refused does not keep the others out. All are read before the first is
/// kept, so that the index learns of them at once.
pub(super) fn run(folder: &Path, asked: &RunsImport) -> Result<Ended, Expected> {
    let mut store = Store::open(folder)?;
    let (mut read_runs, mut files, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for file in &asked.file {
        match read(file, asked.note.as_deref()) {
            Err(error) => refused.push(error),
            Ok(runs) => {
                files.extend(runs.iter().map(|_| file.as_path()));
                read_runs.extend(runs);
            }
        }
    }
    let added = match asked.dry_run {
        true => read_runs.iter().map(|run| store.would_add(run)).collect(),
        false => store.add_each(&read_runs),
    };
    let mut sum = Sum::default();
    for ((file, run), added) in files.iter().zip(&read_runs).zip(added) {
        match added {
            Ok(added) => sum.add(file, run, added),
            Err(error) => refused.push(error.into()),
        }
    }
    if !sum.lines.is_empty() {
        terminal::answer(&sum.text(asked.dry_run))?;
    }
    let last = refused.pop();
    for error in &refused {
        terminal::hint(&format!("nearside: {error}"));
    }
    last.map_or(Ok(Ended::Well), Err)
}

/// What was imported.
#[derive(Default)]
struct Sum {
    lines: Vec<String>,
    new: usize,
    there: usize,
}

impl Sum {
    fn add(&mut self, file: &Path, run: &Run, added: Added) {
        let outcome = match &run.outcome {
            Outcome::Measured(measured) if measured.doubts.is_empty() => "measured".to_owned(),
            Outcome::Measured(measured) => {
                let doubts: Vec<&str> =
                    measured.doubts.iter().map(|doubt| doubt.text.as_str()).collect();
                format!("in doubt: {}", doubts.join("; "))
            }
            Outcome::Failed(failed) => format!("failed: {}", failed.why),
            Outcome::Cancelled => "cancelled".to_owned(),
        };
        let again = if added == Added::There { " (kept before)" } else { "" };
        self.lines.push(format!("{} {}{again}: {outcome}", run.id, file.display()));
        match added {
            Added::New => self.new += 1,
            Added::There => self.there += 1,
        }
    }

    fn text(&self, is_dry: bool) -> String {
        let kept = if is_dry { "would be kept" } else { "kept" };
        let before = match self.there {
            0 => String::new(),
            there => format!(", {there} had been before"),
        };
        let text = format!("{}\n{} {kept}{before}\n", self.lines.join("\n"), self.new);
        text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
    }
}

fn read(file: &Path, note: Option<&str>) -> Result<Vec<Run>, Expected> {
    let (bytes, written_ms) = bytes(file)?;
    let text = String::from_utf8_lossy(&bytes);
    let is_kept = |run: &Run| note.is_some() && run.note.as_deref() != note;
    let runs = runs(&text, written_ms, note).map_err(|what| {
        let help = "import takes fio's --output-format=json or json+, gdsio's lines, and runs/1";
        Expected::usage(format!("{}: {what}", file.display()), help)
    })?;
    if runs.iter().any(is_kept) {
        // With another note it would be another run of the same id.
        let file = file.display();
        terminal::hint(&format!(
            "the note is left out for {file}: a run of a store stays as it is"
        ));
    }
    Ok(runs)
}

/// The bytes of a file, and when it was written, in ms since 1970.
fn bytes(file: &Path) -> Result<(Vec<u8>, u64), Expected> {
    let failed = |error: std::io::Error| {
        let what = format!("cannot read {}: {error}", file.display());
        Expected::precondition(what, "name a file that fio, gdsio or `runs export` wrote")
    };
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MOST {
            return Err(failed(std::io::Error::other(format!("it is longer than {MOST} bytes"))));
        }
        let now = jiff::Timestamp::now().as_millisecond();
        return Ok((bytes, u64::try_from(now).unwrap_or(0)));
    }
    let bytes = subject::read_plain(file, MOST).map_err(failed)?;
    let written = file.metadata().and_then(|there| there.modified()).map_err(failed)?;
    let since = written.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok((bytes, u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

/// The runs in a text, by whose it is.
fn runs(text: &str, written_ms: u64, note: Option<&str>) -> Result<Vec<Run>, String> {
    let note = note.map(str::to_owned);
    let is_fios = text.contains("\"fio version\"");
    if !is_fios && text.trim_start().starts_with('{') && text.contains("\"schema\"") {
        return store::read_bundle(text);
    }
    if !is_fios && text.contains("IoType:") && text.contains("XferType:") {
        let output = gdsio::parse(text).map_err(|refused| refused.to_string())?;
        let about = gdsio::About { started_ms: written_ms, note, ..gdsio::About::default() };
        return Ok(gdsio::runs(&output, &about));
    }
    let about = fio::About { fallback_ms: written_ms, note, ..fio::About::default() };
    let output = fio::parse(text).map_err(|refused| refused.to_string())?;
    fio::runs(&output, &about).map_err(|refused| refused.to_string())
}
