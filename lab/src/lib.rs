// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual machines with several NUMA nodes, drives and NICs: described as data, run by QEMU.
//!
//! A [`Machine`] is a TOML file in `lab/machines`. A [`Lab`] holds what is built once: two Debian
//! kernels and a guest's root file system. [`Lab::boot`] starts a [`Guest`], in which programs are
//! run; its drives outlive it, so that a power cut or a change of firmware is another boot with the
//! same [`Drives`].
//!
//! ```text
//!   machines/*.toml ── machine ──┬── acpi   MADT order, C-states, frequencies
//!                                ├── qemu   command line, QMP, links written into its memory
//!   Debian packages ── image ────┴── guest  boot, run, put, reboot, power cut
//! ```
//!
//! What this cannot show is speed: everything is emulated (TCG), remote memory costs what local
//! memory costs, and only a drive's throttle is a known truth.

#![forbid(unsafe_code)]

pub mod acpi;
mod agent;
mod binary;
mod cpio;
mod drives;
mod error;
mod guest;
mod image;
pub mod machine;
mod options;
mod process;
mod qemu;
mod wire;

pub use binary::nearside;
pub use drives::Drives;
pub use error::{Error, Result};
pub use guest::{Guest, Output, Task};
pub use image::{Kernel, Lab, missing, top};
pub use machine::Machine;
pub use options::{Console, Init, Options};
pub use wire::{End, Wire};
