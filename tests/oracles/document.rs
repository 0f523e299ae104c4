// SPDX-License-Identifier: MIT OR Apache-2.0
//! The binary's document, and small questions about it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::process::Command;

use serde_json::Value;
use support::{Failed, failed};

/// A document and its parts.
#[derive(Debug)]
pub(crate) struct Document(Value);

/// What `nearside topology --json` prints of a machine.
pub(crate) fn topology<S: AsRef<OsStr>>(from: &[S]) -> Result<Document, Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nearside"));
    let output = command.args(["topology", "--json"]).args(from).output().map_err(failed)?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr)));
    }
    Ok(Document(serde_json::from_slice(&output.stdout).map_err(failed)?))
}

impl Document {
    /// The elements of a list at the top.
    pub(crate) fn list(&self, name: &str) -> &[Value] {
        self.0[name].as_array().map_or(&[], Vec::as_slice)
    }

    /// What stands at `/cpus/online`.
    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// The element of a list that has this text in this field.
    pub(crate) fn find(&self, list: &str, field: &str, text: &str) -> &Value {
        let mut elements = self.list(list).iter();
        elements.find(|element| element[field] == text).unwrap_or(&Value::Null)
    }
}

/// A value without quotes; `-` for null.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// CPUs of a kernel list: `0-3,8`.
pub(crate) fn cpus(list: &str) -> BTreeSet<u32> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let part = |part: &str| match part.split_once('-') {
        Some((from, to)) => Some(number(from)?..=number(to)?),
        None => number(part).map(|one| one..=one),
    };
    list.split(',').filter_map(part).flatten().collect()
}

/// CPUs of a field that holds a kernel list.
pub(crate) fn cpus_at(value: &Value) -> BTreeSet<u32> {
    cpus(value.as_str().unwrap_or_default())
}
