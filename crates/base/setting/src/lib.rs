// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings, what was observed of them, and what is found wrong.
//!
//! ```text
//! Setting (catalogue) ─ Observe ─> Observation (with evidence) ─ goal ─> Finding ─> Change
//! ```
//!
//! Plain data shared by the readers (`capture`), the rules (`decide`) and the printers (`output`).
//! It holds no rule and no wording of its own: the words come from the catalogue's files.

#![forbid(unsafe_code)]

mod evidence;
mod feature;
mod finding;
mod guard;
mod interrupts;
mod kernel_option;
mod moves;
mod observation;
mod place;
mod plan;
mod receipt;
mod setting;
mod vocabulary;

pub use evidence::{Evidence, Part, Span};
pub use feature::{feature_name, feature_names};
pub use finding::{Change, Confidence, Finding, FindingEffect, Severity};
pub use guard::{is_guard, keeps_safe};
pub use interrupts::{
    BAN_VARIABLES, BANS_BEGIN, BANS_END, Interrupts, assigned, banned, without_bans,
};
pub use kernel_option::KernelOption;
pub use moves::{
    Movers, is_of_queue, is_one_file, moved_by_ethtool, moved_files, moves_others, opens_again,
    reshapes,
};
pub use observation::{
    Form, Observation, Observe, Scope, canonical, opposite, same_value, spelled,
};
pub use place::{Device, DeviceKind, Ethtool, Place, counterpart};
pub use plan::{Left, LeftWhy, Plan, Planned};
pub use receipt::{Outcome, Undone};
pub use setting::{
    Applies, Basis, Effect, Goal, Meaning, Owner, Reboot, Setting, VendorName, Wanted, Wish, Write,
    WritePlace,
};
pub use vocabulary::{FACTS, NUMERIC_FACTS, TAGS};
