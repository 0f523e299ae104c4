// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tests share: the captures, other people's tools, trials that say why they are skipped, and
//! machines made by hand ([`made`]), and how findings are told ([`words`]).
//!
//! A test that needs something which a machine may lack is a [`trial`] with [`Need`]s. Where one is
//! missing, the trial is listed as ignored with the reason in its name's place for the kind; with
//! `NEARSIDE_REQUIRE_ALL=1` it fails instead, so that a continuous-integration machine cannot skip
//! in silence.
//!
//! Captures are archives of real machines in the folder `NEARSIDE_SHARED` names, or `../shared`
//! beside the checkout. They are unpacked once into `target/captures`.

#![forbid(unsafe_code)]

mod captures;
pub mod made;
mod need;
pub mod words;

pub use captures::{Capture, captures, lab_captures, shared, tree_captures};
pub use libtest_mimic::{Arguments, Failed, Trial};
pub use need::{Need, ignored, trial, trial_unless};

/// Runs trials and ends the process with their verdict.
///
/// # Panics
/// Never; it does not return.
pub fn run(trials: Vec<Trial>) -> ! {
    run_with(&Arguments::from_args(), trials)
}

/// Runs trials as the arguments say and ends the process with their verdict.
///
/// # Panics
/// Never; it does not return.
pub fn run_with(arguments: &Arguments, trials: Vec<Trial>) -> ! {
    libtest_mimic::run(arguments, trials).exit()
}

/// A failure with a text.
pub fn failed(text: impl std::fmt::Display) -> Failed {
    Failed::from(text.to_string())
}
