// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the audit finds on machines made by hand, and what it must not.
