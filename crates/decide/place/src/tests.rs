// SPDX-License-Identifier: MIT OR Apache-2.0
//! Placements on machines of a few lines.
