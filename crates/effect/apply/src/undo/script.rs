// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a revert would write, as a shell script that a person could run.
//!
//! It writes the bytes from before, newest change first, where they were read. What a script cannot
//! tell, whose value it is now, [`super::revert`] looks at; so the script says in a comment what the
//! change had set.

use std::fmt::Write as _;

use journal::{Entry, Raw, Transaction};
use setting::{Ethtool, Place};

use super::{Selection, pick};
use crate::lookup::Lookup;
use crate::{ApplyError, Kernel};

/// The script of a revert.
///
/// # Errors
/// There is no such transaction.
pub fn revert_script(
    kernel: &dyn Kernel,
    transactions: &[Transaction],
    selection: &Selection,
) -> Result<String, ApplyError> {
    let is_known = |id: &u64| transactions.iter().any(|each| each.begin.transaction == *id);
    if let Selection::Transaction(id) = selection
        && !is_known(id)
    {
        return Err(ApplyError::NoTransaction(*id));
    }
    let lookup = Lookup::new(kernel);
    let mut script = "#!/bin/sh\nset -e\n".to_owned();
    for transaction in transactions.iter().rev() {
        for index in pick(&lookup, transaction, selection).into_iter().rev() {
            let Some(entry) = transaction.entries.get(index) else { continue };
            if transaction.may_be_written(index) {
                let _ = writeln!(script, "{}", line(entry));
            }
        }
    }
    Ok(script)
}

fn line(entry: &Entry) -> String {
    let intent = &entry.intent;
    let device = intent.device.as_ref().map_or_else(String::new, |device| device.name.clone());
    let path = entry.receipt.as_ref().and_then(|receipt| receipt.path.clone());
    let path = path.unwrap_or_else(|| intent.path.clone());
    let Raw::Text(before) = &intent.before else {
        return format!("# {} of {device}: nothing to write was there before", intent.setting);
    };
    let before = before.trim_end_matches('\n');
    let set = format!("# {} was set to {}\n", intent.setting, intent.to.replace('\n', " "));
    let command = match &intent.place {
        Place::Ethtool { what } => ethtool(what, &device, before),
        Place::Service { unit } => {
            let verb = if before.contains("running") { "start" } else { "stop" };
            format!("systemctl {verb} {}", quoted(unit))
        }
        Place::IdleLatency => "# the process that holds /dev/cpu_dma_latency is ended".to_owned(),
        Place::MaxReadRequest => format!("# {path}: {before}, by nearside revert"),
        _ => format!("printf '%s\\n' {} > {}", quoted(before), quoted(&path)),
    };
    set + &command
}

fn ethtool(what: &Ethtool, nic: &str, before: &str) -> String {
    let option = match what {
        Ethtool::Channels => "-L",
        Ethtool::Rings => "-G",
        Ethtool::Coalescing => "-C",
        Ethtool::Features => "-K",
        Ethtool::Pause => "-A",
        Ethtool::ReceiveSpread => "-X",
    };
    let words: Vec<String> =
        before.split_whitespace().flat_map(|pair| pair.split('=')).map(quoted).collect();
    format!("ethtool {option} {} {}", quoted(nic), words.join(" "))
}

/// One word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=@:,./+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_stays_one_word() {
        assert_eq!(quoted("eth0"), "eth0");
        assert_eq!(quoted("a'; reboot '"), "'a'\\''; reboot '\\'''");
        assert_eq!(quoted(""), "''");
        assert_eq!(
            ethtool(&Ethtool::Rings, "eth0", "rx=512 tx=256"),
            "ethtool -G eth0 rx 512 tx 256"
        );
    }
}
