// SPDX-License-Identifier: MIT OR Apache-2.0
//! NVMe commands past the block layer, through `/dev/ngXnY`.

mod command;
mod ring;

pub(crate) use command::Namespace;
pub(crate) use ring::CommandRing;
