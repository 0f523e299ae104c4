// SPDX-License-Identifier: MIT OR Apache-2.0
//! The planner on machines made for one thing each.
