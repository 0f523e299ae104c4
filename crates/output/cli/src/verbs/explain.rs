// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside explain`: a catalogue entry as prose.

use catalogue::Catalogue;
use setting::Setting;

use crate::args::{Common, Explain};
use crate::expected::{Ended, Expected};
use crate::{subject, terminal};

/// Settings named where a word fits many.
const SHOWN: usize = 20;

pub(crate) fn run(common: &Common, explain: &Explain) -> Result<Ended, Expected> {
    let catalogue = subject::catalogue(common.catalogue.as_deref())?;
    let style = terminal::style(common.color);
    match &explain.setting {
        Some(name) => {
            let setting = find(&catalogue, name)?;
            if common.json {
                terminal::document(setting)?;
            } else {
                terminal::answer(&report::explain(setting, &catalogue, style.width))?;
            }
        }
        None if common.json => terminal::document(&catalogue.settings())?,
        None => terminal::answer(&report::explain_list(&catalogue, style.width))?,
    }
    Ok(Ended::Well)
}

/// The setting of that id, or that a vendor's firmware calls so, or the only one whose id or title
/// holds the words.
fn find<'a>(catalogue: &'a Catalogue, name: &str) -> Result<&'a Setting, Expected> {
    let is_called = |setting: &&Setting| {
        setting.vendors.iter().any(|vendor| vendor.attribute.eq_ignore_ascii_case(name))
    };
    let known = catalogue.get(name).or_else(|| catalogue.settings().iter().find(is_called));
    if let Some(setting) = known {
        return Ok(setting);
    }
    let words = name.to_lowercase();
    let holds = |setting: &&Setting| {
        setting.id.contains(&words.replace(' ', "-"))
            || setting.title.to_lowercase().contains(&words)
    };
    let found: Vec<&Setting> = catalogue.settings().iter().filter(holds).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(subject::no_setting(catalogue, name)),
        several => {
            let ids: Vec<_> = several.iter().map(|setting| setting.id.as_str()).collect();
            let what = format!("{name:?} could be {} settings", ids.len());
            let help = match ids.get(..SHOWN) {
                Some(first) if ids.len() > SHOWN => {
                    format!("name one of: {}, ...; `nearside explain --list`", first.join(", "))
                }
                _ => format!("name one of: {}", ids.join(", ")),
            };
            Err(Expected::usage(what, help))
        }
    }
}
