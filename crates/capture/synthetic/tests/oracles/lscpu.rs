// SPDX-License-Identifier: MIT OR Apache-2.0
//! What util-linux makes of a machine: sockets, cores and nodes of each CPU.

use std::collections::BTreeSet;
use std::process::Command;

use support::Failed;

use crate::{Written, equal, output};

pub(crate) fn check(machine: &Written) -> Result<(), Failed> {
    let mut command = Command::new("lscpu");
    command.arg("--sysroot").arg(machine.path()).arg("--parse=CPU,CORE,SOCKET,NODE");
    let text = output(&mut command)?;
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(',').collect())
        .collect();
    let distinct = |column: usize| {
        let values: BTreeSet<&str> =
            rows.iter().filter_map(|row| row.get(column)).copied().collect();
        u64::try_from(values.len()).unwrap_or(0)
    };
    let layout = &machine.description.cpu;
    equal("CPUs", distinct(0), machine.online())?;
    equal("cores", distinct(1), machine.online() / u64::from(layout.threads))?;
    equal("sockets", distinct(2), u64::from(layout.packages))?;
    equal("nodes", distinct(3), u64::from(layout.node_count()))
}
