// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside topology`: the machine drawn, or one question about it answered.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use machine::Machine;
use root::Overwrite;

use crate::args::{Common, Topology, View};
use crate::expected::{Ended, Expected};
use crate::{source, terminal};

pub(crate) fn run(common: &Common, topology: &Topology) -> Result<Ended, Expected> {
    let source = source::open(common)?;
    let machine = linux::read(&*source.root);
    if let Some(file) = &topology.view.svg {
        let overwrite = if topology.force { Overwrite::Replace } else { Overwrite::Never };
        return write_picture(&report::svg::draw(&machine), file, overwrite);
    }
    if common.json {
        terminal::document(&report::json::topology(&machine))?;
        return Ok(Ended::Well);
    }
    terminal::answer(&draw(&machine, common, topology)?)?;
    Ok(Ended::Well)
}

fn draw(machine: &Machine, common: &Common, topology: &Topology) -> Result<String, Expected> {
    let style = terminal::style(common.color);
    let View { tree, irqs, lanes, near, path, .. } = &topology.view;
    if *tree {
        return Ok(report::tree::draw(machine, &style));
    }
    if *lanes {
        return Ok(report::lanes::draw(machine, &style));
    }
    if let Some(device) = irqs {
        return report::irqs::draw(machine, device, &style).map_err(Expected::from);
    }
    if let Some(device) = near {
        return report::near::draw(machine, device, &style).map_err(Expected::from);
    }
    if let Some([a, b]) = path.as_deref() {
        return report::path::draw(machine, a, b, &style).map_err(Expected::from);
    }
    Ok(report::topology::draw(machine, &style))
}

/// Writes a picture to a file, or to standard output where it is `-`.
pub(super) fn write_picture(
    text: &str,
    file: &Path,
    overwrite: Overwrite,
) -> Result<Ended, Expected> {
    if file == Path::new("-") {
        terminal::answer(text)?;
        return Ok(Ended::Well);
    }
    save(file, text.as_bytes(), overwrite).map_err(|error| {
        let what = format!("cannot write {}: {error}", file.display());
        let help = match error.kind() {
            ErrorKind::AlreadyExists => "name another file, or give --force",
            _ => "name a file in a folder that you may write to",
        };
        Expected::precondition(what, help)
    })?;
    terminal::hint(&format!("wrote {}", file.display()));
    Ok(Ended::Well)
}

/// Writes a new file, or over a plain one. A FIFO would be waited for, and a device has no end.
fn save(file: &Path, bytes: &[u8], overwrite: Overwrite) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    match overwrite {
        Overwrite::Never => options.write(true).create_new(true),
        Overwrite::Replace => {
            if file.metadata().is_ok_and(|there| !there.is_file()) {
                return Err(std::io::Error::other("it is no plain file"));
            }
            options.write(true).create(true).truncate(true)
        }
    };
    options.open(file)?.write_all(bytes)
}
