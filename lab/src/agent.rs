// SPDX-License-Identifier: MIT OR Apache-2.0
//! The host's end of the port to the guest: lines out, lines in (`lab/guest/start`).

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// What the guest said, gathered until somebody asks.
#[derive(Debug)]
pub(crate) struct Agent {
    port: UnixStream,
    lines: Receiver<String>,
    /// The boot's id, once the guest is up; taken when a reboot is asked for.
    boot: Option<String>,
    finished: BTreeMap<String, i32>,
    is_off: bool,
}

/// Whether there may be more to come.
pub(crate) enum Heard {
    Something,
    Nothing,
    /// QEMU closed the port.
    End,
}

impl Agent {
    pub(crate) fn new(port: UnixStream) -> io::Result<Self> {
        let reader = BufReader::new(port.try_clone()?);
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in reader.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let finished = BTreeMap::new();
        Ok(Self { port, lines, boot: None, finished, is_off: false })
    }

    pub(crate) fn say(&mut self, line: &str) -> io::Result<()> {
        if line == "reboot" {
            self.boot = None;
        }
        writeln!(self.port, "{line}")
    }

    /// Waits for the guest's next line.
    pub(crate) fn hear(&mut self, patience: Duration) -> Heard {
        match self.lines.recv_timeout(patience) {
            Ok(line) => {
                self.take(&line);
                Heard::Something
            }
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => Heard::End,
        }
    }

    fn take(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["up", boot] => self.boot = Some((*boot).to_owned()),
            ["off"] => self.is_off = true,
            ["done", id, status] => {
                self.finished.insert((*id).to_owned(), status.parse().unwrap_or(-1));
            }
            _ => {}
        }
    }

    /// The id of the running kernel's boot; none until it is up.
    pub(crate) fn boot(&self) -> Option<&str> {
        self.boot.as_deref()
    }

    /// The status of a script that has ended.
    pub(crate) fn status(&self, id: &str) -> Option<i32> {
        self.finished.get(id).copied()
    }

    pub(crate) fn is_off(&self) -> bool {
        self.is_off
    }
}
