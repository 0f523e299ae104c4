// SPDX-License-Identifier: MIT OR Apache-2.0
//! The catalogue against the published studies and the attribute names read from real controllers,
//! which lie outside the repository: in the folder of NEARSIDE_SHARED, or in ../shared.

use std::path::Path;

use nearside_catalogue::Catalogue;
use setting::{Setting, Wanted};
use support::{Failed, Need, shared, trial};

/// Values that the study recommends and that hold for no other platform: observed, never wished.
const ONE_PLATFORM_ONLY: &[&str] = &[
    "uncore-frequency-compute",
    "custom-uncore-frequency-compute",
    "uncore-frequency-io",
    "custom-uncore-frequency-io",
];

/// Attributes whose spelling in `aliases.json` was cut from prose and is no name.
const NO_NAMES: &[&str] = &["same"];

/// What must hold of the catalogue, by the folder of studies and captures.
type Check = fn(&Path) -> Result<(), Failed>;

fn main() {
    let checks: [(&str, Check); 2] = [
        ("the_54_settings_of_the_study", the_54_settings_of_the_study),
        ("every_known_attribute_is_mapped", every_known_attribute_is_mapped),
    ];
    let checks = checks.map(|(name, check)| {
        trial(name, &[Need::Captures], move || check(&shared().ok_or("no captures folder")?))
    });
    support::run(checks.into())
}

/// Each setting has an entry; one whose recommendation is its default has no wish, and may say that
/// the default is to be kept; the others have one, but for those tried on a single platform.
fn the_54_settings_of_the_study(shared: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(shared.join("reference/r770-bios.toml"))?;
    let study: toml::Table = text.parse()?;
    let settings = study["setting"].as_array().ok_or("no settings")?;
    let catalogue = Catalogue::built_in();
    let mut wrong = Vec::new();
    for setting in settings {
        let word = |key: &str| setting[key].as_str().unwrap_or_default();
        let id = word("id");
        match catalogue.get(id) {
            None => wrong.push(format!("no entry for {id}")),
            Some(entry) => wrong.extend(misjudged(entry, word("recommended") == word("default"))),
        }
    }
    if settings.len() == 54 && wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("{} settings; {}", settings.len(), wrong.join("; ")).into())
    }
}

fn misjudged(entry: &Setting, recommends_the_default: bool) -> Option<String> {
    let wishes = entry.wanted != Wanted::default();
    let may = !recommends_the_default && !ONE_PLATFORM_ONLY.contains(&entry.id.as_str());
    if entry.kept != Wanted::default() && !recommends_the_default {
        return Some(format!("{}: keeps a default that the study changes", entry.id));
    }
    (wishes != may).then(|| format!("{}: wish {wishes}, should be {may}", entry.id))
}

/// Every attribute that a controller's registry was seen to have for one of the listed settings.
fn every_known_attribute_is_mapped(shared: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(shared.join("captures/redfish/aliases.json"))?;
    let aliases: serde_json::Value = serde_json::from_str(&text)?;
    let catalogue = Catalogue::built_in();
    let mut missing = Vec::new();
    for alias in aliases.as_array().ok_or("no list")? {
        for (vendor, names) in alias["vendors"].as_object().ok_or("no vendors")? {
            let vendor = vendor.replace('_', "-");
            for name in names["attributes"].as_array().into_iter().flatten() {
                let attribute = name["attribute"].as_str().unwrap_or_default();
                if !NO_NAMES.contains(&attribute) && !is_mapped(&catalogue, &vendor, attribute) {
                    missing.push(format!("{vendor} {attribute}"));
                }
            }
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(missing.join(", ").into()) }
}

fn is_mapped(catalogue: &Catalogue, vendor: &str, attribute: &str) -> bool {
    let mut names = catalogue.settings().iter().flat_map(|setting| &setting.vendors);
    names.any(|name| name.vendor == vendor && name.attribute == attribute)
}
