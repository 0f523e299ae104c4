// SPDX-License-Identifier: MIT OR Apache-2.0
//! Licences of everything that is linked, against the list that `deny.toml` allows.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Complaints;
use crate::project;

/// What is built for; libraries that only other systems link do not count.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

pub(super) fn check() -> Result<Complaints> {
    let deny = project::text("deny.toml".as_ref()).context("no deny.toml")?;
    let deny: toml::Table = deny.parse().context("deny.toml")?;
    let allowed: Vec<&str> = deny["licenses"]["allow"]
        .as_array()
        .context("deny.toml allows no licences")?
        .iter()
        .filter_map(toml::Value::as_str)
        .collect();
    let arguments = ["metadata", "--format-version", "1", "--filter-platform", PLATFORM];
    let output = Command::new("cargo").args(arguments).current_dir(project::top()).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let complaint = |package: &serde_json::Value| {
        let licence = package["license"].as_str().unwrap_or("none");
        let name = package["name"].as_str().unwrap_or_default();
        (!is_allowed(licence, &allowed)).then(|| format!("{name}: licence {licence}"))
    };
    Ok(packages.iter().filter_map(complaint).collect())
}

/// Whether an SPDX expression can be met by the allowed licences: one branch of each `OR`, all of
/// each `AND`. Old manifests write `/` for `OR`.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    expression.split(" AND ").all(|all| all.split(" OR ").any(|one| allowed.contains(&one.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_branch_is_enough_and_all_parts_are_needed() {
        let allowed = ["MIT", "Unicode-3.0"];
        assert!(is_allowed("MIT/Apache-2.0", &allowed));
        assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0", &allowed));
        assert!(!is_allowed("MIT AND GPL-3.0", &allowed) && !is_allowed("none", &allowed));
    }
}
