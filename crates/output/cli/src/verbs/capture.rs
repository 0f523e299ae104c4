// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside capture`: what the readers ask, saved in one file.

use std::io::IsTerminal as _;
use std::path::Path;

use machine::Machine;
use root::{About, Overwrite, Recorder, Redactor, Root};

use crate::args::{Capture, Common};
use crate::expected::{Ended, Expected};
use crate::source::{Kind, Source};
use crate::verbs::{plan, screen};
use crate::{source, subject, terminal};

pub(crate) fn run(common: &Common, capture: &Capture) -> Result<Ended, Expected> {
    refuse_early(common, capture)?;
    let catalogue = subject::catalogue(common.catalogue.as_deref())?;
    let mut redactor = redactor(capture)?;
    let source = source::open(common)?;
    let recorder = Recorder::new(&*source.root);
    let read = subject::read(&recorder, &catalogue);
    // What a plan of the replay will ask.
    plan::Surroundings::ask(&recorder);
    ask_for_placements(&recorder, &read.machine);
    if let (Some(redactor), Ok(name)) = (redactor.as_mut(), &read.machine.host.name) {
        redactor.add_secret(name);
    }
    // What this pass saw, so that a replay can be held against it.
    let seen = common.json.then(|| screen::document(&recorder, &read, &catalogue));
    let about = about(&source, &read.machine, redactor.is_some());
    let record = recorder.into_record();
    if is_stdout(&capture.output) {
        record.write(std::io::stdout(), &about, redactor.as_mut())?;
        return Ok(Ended::Well);
    }
    let overwrite = if capture.force { Overwrite::Replace } else { Overwrite::Never };
    let written = record
        .save(&capture.output, &about, redactor.as_mut(), overwrite)
        .map_err(|error| cannot_write(&capture.output, &error))?;
    let file = capture.output.display();
    let kept = if redactor.is_some() { "redacted" } else { "NOT redacted" };
    terminal::hint(&format!("saved {} files and folders to {file}, {kept}", written.entries));
    terminal::hint(&format!("replay it: nearside --from {file}"));
    seen.iter().try_for_each(terminal::document)?;
    Ok(Ended::Well)
}

/// What `exec` asks of every device, so that a capture answers it too.
fn ask_for_placements(root: &dyn Root, machine: &Machine) {
    let drives = machine.drives.iter().flat_map(|drive| {
        let controllers = drive.controllers.iter().map(|controller| &controller.name);
        std::iter::once(&drive.name).chain(controllers)
    });
    let volumes = machine.volumes.iter().map(|volume| &volume.name);
    let names = drives.chain(volumes).chain(machine.nics.iter().map(|nic| &nic.name));
    linux::ask_places(root, names.map(String::as_str));
}

/// The capture of a capture is of the same machine at the same time.
fn about(source: &Source, machine: &Machine, redacted: bool) -> About {
    let now = || match source.kind {
        Kind::Live => jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Kind::Replayed => String::new(),
    };
    let before = source.about.as_ref();
    About {
        nearside: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: machine.host.kernel.clone().unwrap_or_default(),
        time: before.map_or_else(now, |about| about.time.clone()),
        redacted: redacted || before.is_some_and(|about| about.redacted),
    }
}

fn is_stdout(output: &Path) -> bool {
    output == Path::new("-")
}

/// Reading a machine for nothing is a pity.
fn refuse_early(common: &Common, capture: &Capture) -> Result<(), Expected> {
    let output = &capture.output;
    if is_stdout(output) {
        let help = "name a file with --output, or send it to one: > FILE";
        if common.json {
            return Err(Expected::usage("one output cannot take both capture and JSON", help));
        }
        if std::io::stdout().is_terminal() {
            return Err(Expected::usage("a capture is nothing to read on a terminal", help));
        }
        return Ok(());
    }
    match output.symlink_metadata() {
        Ok(_) if !capture.force => {
            Err(cannot_write(output, &std::io::ErrorKind::AlreadyExists.into()))
        }
        Ok(there) if !there.is_file() => {
            Err(cannot_write(output, &std::io::Error::other("it is no plain file")))
        }
        _ => Ok(()),
    }
}

fn cannot_write(file: &Path, error: &std::io::Error) -> Expected {
    let file = file.display();
    if error.kind() == std::io::ErrorKind::AlreadyExists {
        let help = "name another with --output, or give --force";
        return Expected::precondition(format!("cannot write {file}: it is there already"), help);
    }
    let help = "name a file in a folder that you may write to, with --output";
    Expected::precondition(format!("cannot write {file}: {error}"), help)
}

fn redactor(capture: &Capture) -> Result<Option<Redactor>, Expected> {
    if capture.no_redact {
        return Ok(None);
    }
    let Some(file) = &capture.key_file else {
        let random = Redactor::random().map_err(|error| {
            Expected::precondition(format!("no random numbers for the key: {error}"), "")
        });
        return random.map(Some);
    };
    let help = "a key file holds 32 bytes: head -c 32 /dev/urandom > FILE";
    let key = subject::read_plain(file, 32).map_err(|error| {
        Expected::precondition(format!("cannot read the key {}: {error}", file.display()), help)
    })?;
    let key: [u8; 32] = key.as_slice().try_into().map_err(|_| {
        let what = format!("the key {} holds {} bytes", file.display(), key.len());
        Expected::usage(what, help)
    })?;
    Ok(Some(Redactor::new(key)))
}
