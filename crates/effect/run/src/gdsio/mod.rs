// SPDX-License-Identifier: MIT OR Apache-2.0
//! gdsio, NVIDIA's benchmark of GPUDirect Storage: driven, and what it printed.

mod drive;
mod import;
mod parse;

#[cfg(test)]
mod tests;

pub use drive::{Access, Gdsio, Task, Transfer, words};
pub use import::{About, runs};
pub use parse::{Line, Output, Refused, parse};
