// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses one file: a setting, a vendor's attribute names, or options of the command line.

use serde::Deserialize;
use setting::{KernelOption, Setting, VendorName};

use crate::Complaint;
use crate::complaint::from_toml;

/// Where an entry came from, kept so that a complaint can name the line.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    /// The file as its caller named it: `nvme/block-scheduler.toml`.
    pub(crate) file: String,
    /// Its text.
    pub(crate) text: String,
}

impl Origin {
    /// The folder that groups it, or `own` for a file in no folder.
    pub(crate) fn group(&self) -> &str {
        self.file
            .rsplit_once('/')
            .map_or("own", |(folder, _)| folder.rsplit_once('/').map_or(folder, |(_, last)| last))
    }

    /// The file's name without folder and extension.
    pub(crate) fn stem(&self) -> &str {
        let name = self.file.rsplit_once('/').map_or(self.file.as_str(), |(_, name)| name);
        name.strip_suffix(".toml").unwrap_or(name)
    }

    /// A complaint about the first line on which `key` stands, or about the whole file.
    pub(crate) fn complain(&self, key: &str, what: String, help: &str) -> Complaint {
        self.complain_nth(key, 0, what, help)
    }

    /// A complaint about the line on which `key` stands for the `at`th time, from 0.
    pub(crate) fn complain_nth(&self, key: &str, at: usize, what: String, help: &str) -> Complaint {
        let mut lines = self.text.lines().enumerate().filter(|(_, line)| opens(line, key));
        let line = lines.nth(at).map(|(line, _)| line);
        Complaint {
            file: self.file.clone(),
            place: line.map(|line| (line + 1, 1)),
            what,
            help: help.to_owned(),
        }
    }
}

/// Whether a line of TOML gives `key`, alone, as a table or as the last part of a dotted key.
fn opens(line: &str, key: &str) -> bool {
    let line = line.trim_start();
    if let Some(table) = line.strip_prefix('[') {
        let name = table.trim_start_matches('[').split(']').next().unwrap_or_default();
        return name.split('.').any(|part| part == key);
    }
    line.split_once('=').is_some_and(|(left, _)| {
        let left = left.trim();
        left == key || left.ends_with(&format!(".{key}"))
    })
}

/// A vendor's names for our settings: a file of `catalogue/vendors/`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct VendorMap {
    /// `dell-intel`, `hpe-amd`.
    pub(crate) vendor: String,
    /// Whose machines, in words.
    pub(crate) title: String,
    /// Where the names come from.
    pub(crate) source: String,
    /// The names.
    #[serde(default)]
    pub(crate) name: Vec<MappedName>,
}

/// One attribute and the setting it carries.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct MappedName {
    /// Id of our setting.
    pub(crate) setting: String,
    /// The vendor's name.
    pub(crate) attribute: String,
    /// (our value, vendor's value).
    #[serde(default)]
    pub(crate) values: Vec<(String, String)>,
    /// Anything odd about it.
    pub(crate) note: Option<String>,
}

impl MappedName {
    /// The name as a setting carries it.
    pub(crate) fn of(&self, vendor: &str) -> VendorName {
        VendorName {
            vendor: vendor.to_owned(),
            attribute: self.attribute.clone(),
            values: self.values.clone(),
            note: self.note.clone(),
        }
    }
}

/// Options of the kernel's command line: a file of `catalogue/command-line/`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct OptionList {
    /// Where their meanings come from.
    pub(crate) source: String,
    /// The options.
    pub(crate) option: Vec<KernelOption>,
}

/// Parses a list of options.
pub(crate) fn options(origin: &Origin) -> Result<OptionList, Complaint> {
    let parsed: Result<OptionList, _> = toml::from_str(&origin.text);
    let mut list = parsed.map_err(|error| from_toml(&origin.file, &origin.text, &error))?;
    list.option.iter_mut().for_each(|option| unwrap_lines(&mut option.means));
    Ok(list)
}

/// Parses a setting. Its prose may run over several lines of the file; it becomes one line, so that
/// whoever prints it wraps it to the width there is.
pub(crate) fn setting(origin: &Origin) -> Result<Setting, Complaint> {
    let parsed: Result<Setting, _> = toml::from_str(&origin.text);
    let mut setting = parsed.map_err(|error| from_toml(&origin.file, &origin.text, &error))?;
    for text in [&mut setting.title, &mut setting.what, &mut setting.trade_off] {
        unwrap_lines(text);
    }
    if let Some(text) = &mut setting.observe.unseen {
        unwrap_lines(text);
    }
    setting.values.iter_mut().for_each(|meaning| unwrap_lines(&mut meaning.means));
    for effect in &mut setting.effect {
        unwrap_lines(&mut effect.text);
        unwrap_lines(&mut effect.source);
    }
    Ok(setting)
}

fn unwrap_lines(text: &mut String) {
    *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
}

/// Parses a vendor's names.
pub(crate) fn vendor(origin: &Origin) -> Result<VendorMap, Complaint> {
    toml::from_str(&origin.text).map_err(|error| from_toml(&origin.file, &origin.text, &error))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_is_found_alone_dotted_and_as_a_table() {
        assert!(opens("wanted.latency.one-of = [\"on\"]", "one-of"));
        assert!(opens("[[effect]]", "effect"));
        assert!(opens("[wanted.latency]", "wanted") && opens("[wanted.latency]", "latency"));
        assert!(opens("  id = \"x\"", "id"));
        assert!(!opens("identity = 1", "id"));
        assert!(!opens("# id", "id"));
    }

    #[test]
    fn group_is_the_last_folder() {
        let origin = |file: &str| Origin { file: file.to_owned(), text: String::new() };
        assert_eq!(origin("nvme/a.toml").group(), "nvme");
        assert_eq!(origin("/etc/nearside/cpu/a.toml").group(), "cpu");
        assert_eq!(origin("a.toml").group(), "own");
        assert_eq!(origin("a/b-c.toml").stem(), "b-c");
    }

    proptest! {
        #[test]
        fn any_text_parses_or_is_refused(text in "\\PC{0,200}|(id|title|\\[effect\\]|[ =\"\n\\[\\]a-z-]){0,80}") {
            let origin = Origin { file: "any.toml".to_owned(), text };
            if let Err(complaint) = setting(&origin) {
                prop_assert!(complaint.to_string().contains("help: "));
            }
            let _ = vendor(&origin);
            let _ = options(&origin);
        }
    }
}
