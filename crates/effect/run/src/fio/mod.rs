// SPDX-License-Identifier: MIT OR Apache-2.0
//! fio: what it printed, read without its traps; its job files; fio itself, driven.

mod drive;
mod error;
mod field;
mod import;
pub mod job_file;
mod json;
mod judge;
mod parse;
mod report;
mod stream;

#[cfg(test)]
mod tests;

pub use drive::{Fio, Task};
pub use error::Refused;
pub use import::{About, runs};
pub use parse::{Output, parse};
pub use report::{Disk, Flow, Job, Latency, Report, Steady, Way};
