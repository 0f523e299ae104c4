// SPDX-License-Identifier: MIT OR Apache-2.0
//! All settings by id: the built-in ones and, over them, a user's own.

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};
use setting::{KernelOption, Setting};

use crate::entry::{self, OptionList, Origin, VendorMap};
use crate::{Complaint, Complaints, lint};

/// The data of the repository, compiled in.
static FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../../catalogue");

/// Folders of the catalogue that hold no settings and are read by others.
const OTHERS: &[&str] = &["devices", "studies"];

/// All settings by id.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    settings: Vec<Setting>,
    origins: Vec<Origin>,
    vendors: BTreeMap<String, (VendorMap, Origin)>,
    options: Vec<KernelOption>,
    lists: Vec<(OptionList, Origin)>,
}

impl Catalogue {
    /// The settings that are compiled in.
    pub fn built_in() -> Self {
        Self::load(built_in_files()).expect("a test loads and lints every compiled-in file")
    }

    /// The compiled-in settings with a user's own over them: each of `files` is (name, text) of a
    /// TOML file. One whose id is known replaces ours, another is added; files of a folder
    /// `vendors` hold attribute names, those of a folder `command-line` options of the kernel. What is
    /// wrong with them is returned all at once.
    pub fn with_folder(
        files: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Complaints> {
        Self::built_in().with_entries(files)
    }

    /// This catalogue with more entries over it, as `with_folder` takes them.
    pub fn with_entries(
        self,
        files: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Complaints> {
        let mut all = self.origins;
        all.extend(self.vendors.into_values().map(|(_, origin)| origin));
        all.extend(self.lists.into_iter().map(|(_, origin)| origin));
        let known = all.len();
        all.extend(files.into_iter().map(|(file, text)| Origin { file, text }));
        let own: Vec<String> = all.iter().skip(known).map(|origin| origin.file.clone()).collect();
        let catalogue = Self::load(all)?;
        let mut complaints = catalogue.lint();
        complaints.retain(|complaint| own.contains(&complaint.file));
        if complaints.is_empty() { Ok(catalogue) } else { Err(Complaints(complaints)) }
    }

    /// The settings, ascending by id.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// The setting called `id`.
    pub fn get(&self, id: &str) -> Option<&Setting> {
        self.position(id).and_then(|at| self.settings.get(at))
    }

    /// Options of the kernel's command line that override the firmware or take hardware away, by name
    /// and value.
    pub fn kernel_options(&self) -> &[KernelOption] {
        &self.options
    }

    /// The folder that groups the setting called `id`: `bios`, `nvme`; `own` for a user's file that
    /// lies in no folder, and for an unknown id.
    pub fn group(&self, id: &str) -> &str {
        self.position(id).and_then(|at| self.origins.get(at)).map_or("own", Origin::group)
    }

    /// The ids nearest to a word that is none, best first, at most three.
    pub fn nearest(&self, word: &str) -> Vec<&str> {
        nearest(word, self.settings.iter().map(|setting| setting.id.as_str()))
    }

    /// Whose machines a vendor's names are for, in words: `Dell PowerEdge, Intel processors`.
    pub fn vendor_title<'a>(&'a self, vendor: &'a str) -> &'a str {
        self.vendors.get(vendor).map_or(vendor, |(map, _)| map.title.as_str())
    }

    /// What is wrong with the catalogue; empty when nothing is.
    pub fn lint(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for (setting, origin) in self.settings.iter().zip(&self.origins) {
            lint::entry(setting, origin, &mut complaints);
            lint::links(setting, origin, self, &mut complaints);
        }
        for (map, origin) in self.vendors.values() {
            lint::vendor(map, origin, self, &mut complaints);
        }
        for (list, origin) in &self.lists {
            lint::options(list, origin, &mut complaints);
        }
        complaints
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.settings.binary_search_by(|setting| setting.id.as_str().cmp(id)).ok()
    }

    /// Parses all files; a later one of the same id, or of the same vendor, wins, and so does a later
    /// option of the same name and value.
    fn load(files: Vec<Origin>) -> Result<Self, Complaints> {
        let mut parsed = Parsed::default();
        let complaints: Vec<Complaint> =
            files.into_iter().filter_map(|origin| parsed.take(origin).err()).collect();
        if !complaints.is_empty() {
            return Err(Complaints(complaints));
        }
        let Parsed { entries, vendors, lists } = parsed;
        let (mut settings, origins): (Vec<_>, Vec<_>) = entries.into_values().unzip();
        name_vendors(&mut settings, &vendors);
        let options: BTreeMap<_, &KernelOption> = lists
            .iter()
            .flat_map(|(list, _)| &list.option)
            .map(|option| ((&option.name, &option.value), option))
            .collect();
        let options = options.into_values().cloned().collect();
        Ok(Self { settings, origins, vendors, options, lists })
    }
}

/// What the files hold, by the folder that they lie in.
#[derive(Default)]
struct Parsed {
    entries: BTreeMap<String, (Setting, Origin)>,
    vendors: BTreeMap<String, (VendorMap, Origin)>,
    lists: Vec<(OptionList, Origin)>,
}

impl Parsed {
    fn take(&mut self, origin: Origin) -> Result<(), Complaint> {
        match origin.group() {
            "vendors" => {
                let map = entry::vendor(&origin)?;
                self.vendors.insert(map.vendor.clone(), (map, origin));
            }
            "command-line" => self.lists.push((entry::options(&origin)?, origin)),
            _ => {
                let setting = entry::setting(&origin)?;
                self.entries.insert(setting.id.clone(), (setting, origin));
            }
        }
        Ok(())
    }
}

/// Adds each vendor's names to the settings they carry.
fn name_vendors(settings: &mut [Setting], vendors: &BTreeMap<String, (VendorMap, Origin)>) {
    for (map, _) in vendors.values() {
        for name in &map.name {
            if let Ok(at) = settings.binary_search_by(|setting| setting.id.cmp(&name.setting))
                && let Some(setting) = settings.get_mut(at)
            {
                setting.vendors.push(name.of(&map.vendor));
            }
        }
    }
}

/// The names nearest to a word that is none of them, best first, at most three. Near is a name that
/// the word is a part of, or one with at most an edit for each three letters of the shorter: of `foo`,
/// `c1e` shares nothing.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let near = |name: &'a str| {
        let edits = strsim::damerau_levenshtein(word, name);
        let is_part = word.len() >= 3 && name.contains(word);
        let most = word.chars().count().min(name.chars().count()) / 3;
        (is_part || edits <= most.min(3)).then_some((if is_part { 1 } else { edits }, name))
    };
    let mut near: Vec<(usize, &str)> = names.into_iter().filter_map(near).collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Every compiled-in TOML file that is no other crate's.
fn built_in_files() -> Vec<Origin> {
    let folders = FILES
        .dirs()
        .filter(|folder| folder.path().to_str().is_some_and(|name| !OTHERS.contains(&name)));
    folders
        .flat_map(Dir::files)
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|file| {
            let name = file.path().to_str()?.to_owned();
            Some(Origin { file: name, text: file.contents_utf8()?.to_owned() })
        })
        .collect()
}
