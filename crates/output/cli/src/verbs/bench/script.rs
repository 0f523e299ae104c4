// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same load as a script for fio or gdsio, which a person can read and run.

use run::fio::job_file;
use run::gdsio;

use super::carry::{Asked, gdsio_task, places};
use crate::args::{EngineName, Means};
use crate::expected::Expected;
use crate::typed::quoted;

/// Writes the script.
pub(super) fn write(asked: &Asked, means: &Means) -> Result<String, Expected> {
    let mut lines = vec!["#!/bin/sh".to_owned(), "set -eu".to_owned()];
    lines.extend(checks(asked, means));
    if means.engine == EngineName::Gdsio {
        let words = gdsio::words(&gdsio_task(asked, means)?);
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        lines.push(words.join(" "));
        return Ok(lines.join("\n"));
    }
    let engine = match means.engine {
        EngineName::Libaio => "libaio",
        EngineName::Psync => "psync",
        _ => "io_uring",
    };
    let jobs = job_file::write(&asked.workload, engine, &places(asked)).map_err(|unwritten| {
        Expected::usage(unwritten.to_string(), "only our own engine does it; leave --dry-run out")
    })?;
    let hosts = means.hosts.iter().map(|host| format!(" --client={}", quoted(host)));
    let hosts: String = hosts.collect();
    lines.push(format!("fio --output-format=json+{hosts} - <<'JOBS'\n{}\nJOBS", jobs.trim_end()));
    Ok(lines.join("\n"))
}

/// What has to hold before anything is written; of what is made, that it goes again.
fn checks(asked: &Asked, means: &Means) -> Vec<String> {
    let mut lines = Vec::new();
    for target in &asked.workload.targets {
        let path = quoted(&target.path);
        if target.make_bytes.is_some() {
            lines.push(format!("test ! -e {path}\ntrap 'rm -f -- {path}' EXIT"));
        } else if asked.workload.mix.destroys() {
            let serials: Vec<String> = means.serial.iter().map(|serial| quoted(serial)).collect();
            lines.push(format!(
                "# Writes to {path}: its serial number has to be one of these, and it must not be in \
                 use.\ncase \"$(lsblk -dno SERIAL {path})\" in {}) ;; *) exit 4 ;; esac\n! lsblk -no \
                 MOUNTPOINTS {path} | grep -q .",
                if serials.is_empty() { "''".to_owned() } else { serials.join("|") },
            ));
        }
    }
    lines
}
