// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quantities, ids and sets that every other crate speaks.
//!
//! A value of this crate parses from, and prints to, exactly the text that the kernel uses for it:
//! CPU lists (`0-3,8`), CPU masks (`00000000,000001ff`), PCI addresses (`0000:3e:00.0`). Rates in
//! bytes and rates in bits are different types, so that 100 Gb/s is never taken for 100 GB/s.
//! Prefixes follow one rule: k = 1000, Ki = 1024, and what is printed says which.
//!
//! It knows nothing of files, machines or settings, and it never guesses: text that it cannot read
//! is an error that carries the text.

#![forbid(unsafe_code)]

mod address;
mod cpu_set;
mod error;
mod id;
mod rate;
mod words;

pub use address::PciAddress;
pub use cpu_set::CpuSet;
pub use error::ParseError;
pub use id::{Cpu, NodeId, PackageId};
pub use rate::{BitRate, ByteRate, Bytes, Transfers};
pub use words::{count, natural};
