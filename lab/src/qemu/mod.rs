// SPDX-License-Identifier: MIT OR Apache-2.0
//! QEMU: its command line, its control socket, and registers that it has no option for.

mod arguments;
mod memory;
mod qmp;
mod registers;

pub(crate) use arguments::{Arguments, Ends, plugged};
pub(crate) use qmp::Qmp;
pub(crate) use registers::{retrain, write_registers};
