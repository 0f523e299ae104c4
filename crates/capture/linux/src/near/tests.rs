// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ways from names to devices on trees in memory.
