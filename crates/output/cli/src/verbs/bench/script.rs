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
    lines.extend(checks(asked, means)?);
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
fn checks(asked: &Asked, means: &Means) -> Result<Vec<String>, Expected> {
    let targets = &asked.workload.targets;
    let made = targets.iter().filter(|target| target.make_bytes.is_some());
    let made: Vec<String> = made.map(|target| quoted(&target.path)).collect();
    let mut lines: Vec<String> =
        made.iter().map(|path| format!("if [ -e {path} ]; then exit 4; fi")).collect();
    if !made.is_empty() {
        // One for all: a second would take the place of the first.
        let words = quoted(&format!("rm -f -- {}", made.join(" ")));
        lines.push(format!("trap {words} EXIT"));
    }
    if asked.workload.mix.destroys() {
        for target in targets.iter().filter(|target| target.make_bytes.is_none()) {
            lines.push(unused(&target.path, &means.serial)?);
        }
    }
    Ok(lines)
}

/// Ends the script where a device is not one of those that are meant, or somebody uses it. What is
/// only seen with more than a shell, `nearside bench` itself looks at.
fn unused(path: &str, tokens: &[String]) -> Result<String, Expected> {
    if tokens.is_empty() {
        let what = format!("{path} would be written to, and nothing was told to know it by");
        return Err(Expected::usage(what, "--serial NUMBER, as `nearside topology --json` has it"));
    }
    let serials = tokens.iter().map(|token| token.split(':').next().unwrap_or_default());
    let serials: Vec<String> = serials.map(quoted).collect();
    let path = quoted(path);
    Ok(format!(
        "# Writes to {path}: it has to have this serial number, and must not be in use.\n\
         case \"$(lsblk -dno SERIAL {path})\" in {}) ;; *) exit 4 ;; esac\n\
         if lsblk -no MOUNTPOINTS {path} | grep -q .; then exit 4; fi\n\
         if [ -n \"$(lsblk -no NAME {path} | tail -n +2)\" ]; then exit 4; fi\n\
         if [ -n \"$(wipefs -n {path})\" ]; then exit 4; fi",
        serials.join("|"),
    ))
}
