// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside topology`: the machine drawn, or one question about it answered.

use std::path::Path;

use machine::Machine;

use crate::args::{Common, Topology, View};
use crate::expected::{Ended, Expected};
use crate::{source, terminal};

pub(crate) fn run(common: &Common, topology: &Topology) -> Result<Ended, Expected> {
    let source = source::open(common)?;
    let machine = linux::read(&*source.root);
    if let Some(file) = &topology.view.svg {
        return picture(&machine, file);
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

fn picture(machine: &Machine, file: &Path) -> Result<Ended, Expected> {
    let text = report::svg::draw(machine);
    if file == Path::new("-") {
        terminal::answer(&text)?;
    } else {
        std::fs::write(file, text).map_err(|error| {
            let what = format!("cannot write {}: {error}", file.display());
            Expected::precondition(what, "name a file in a folder that you may write to")
        })?;
        terminal::hint(&format!("wrote {}", file.display()));
    }
    Ok(Ended::Well)
}
