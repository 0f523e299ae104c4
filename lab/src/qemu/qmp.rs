// SPDX-License-Identifier: MIT OR Apache-2.0
//! QEMU's control socket: one JSON document a line, events in between (docs/interop/qmp-spec.rst).

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::error::{At, Error, Result};

/// A connection that takes commands.
#[derive(Debug)]
pub(crate) struct Qmp {
    path: PathBuf,
    writer: UnixStream,
    reader: BufReader<UnixStream>,
}

/// Longer than any command takes on a busy host.
const PATIENCE: Duration = Duration::from_secs(120);

impl Qmp {
    pub(crate) fn new(path: &Path, stream: UnixStream) -> Result<Self> {
        stream.set_read_timeout(Some(PATIENCE)).at(path)?;
        let reader = BufReader::new(stream.try_clone().at(path)?);
        let mut qmp = Self { path: path.to_owned(), writer: stream, reader };
        qmp.answer()?; // The greeting.
        qmp.call("qmp_capabilities", &json!({}))?;
        Ok(qmp)
    }

    pub(crate) fn call(&mut self, command: &str, arguments: &Value) -> Result<Value> {
        let request = json!({"execute": command, "arguments": arguments});
        writeln!(self.writer, "{request}").at(&self.path)?;
        loop {
            let answer = self.answer()?;
            if let Some(value) = answer.get("return") {
                return Ok(value.clone());
            }
            if let Some(error) = answer.get("error") {
                let message = error["desc"].as_str().unwrap_or("no reason").to_owned();
                return Err(Error::Qmp { command: command.to_owned(), message });
            }
        }
    }

    fn answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.reader.read_line(&mut line).at(&self.path)?;
        serde_json::from_str(&line).map_err(std::io::Error::from).at(&self.path)
    }
}
