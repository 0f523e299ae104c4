// SPDX-License-Identifier: MIT OR Apache-2.0
//! The architecture as a test. Each check is a file and gives complaints; none stops the others.

mod budget;
mod catalogue;
mod fresh;
mod licence;
mod personal;
mod reach;
mod reference;
mod rule;
mod source;

use anyhow::{Result, ensure};

/// What a check found: the place and what is wrong with it.
pub(super) type Complaints = Vec<String>;

/// A check of the whole checkout.
type Check = fn() -> Result<Complaints>;

/// Runs every check and fails when one complains.
pub(crate) fn run() -> Result<()> {
    let checks: [(&str, Check); 9] = [
        ("dependency rule", rule::check),
        ("reach", reach::check),
        ("budgets", budget::check),
        ("sources", source::check),
        ("personal details", personal::check),
        ("licences", licence::check),
        ("generated files", fresh::check),
        ("catalogue", catalogue::check),
        ("references", reference::check),
    ];
    let mut total = 0;
    for (name, check) in checks {
        let complaints = check()?;
        println!("{name}: {}", if complaints.is_empty() { "ok" } else { "not ok" });
        complaints.iter().for_each(|complaint| println!("  {complaint}"));
        total += complaints.len();
    }
    ensure!(total == 0, "tidy found {total} things to mend");
    Ok(())
}
