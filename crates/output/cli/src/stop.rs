// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interruption: the first signal asks for an orderly end, in which all is taken back.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::expected::Expected;

/// A flag that turns true when this process is asked to end.
pub(crate) fn on_signals() -> Result<Arc<AtomicBool>, Expected> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&asked)).map_err(|error| {
            Expected::precondition(format!("cannot watch for signals: {error}"), "")
        })?;
    }
    Ok(asked)
}
