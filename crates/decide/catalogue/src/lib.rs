// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and lints the catalogue of settings, which is data: one TOML file a setting, in
//! `catalogue/` grouped by owner.
//!
//! The files are compiled into the binary; a user's own folder adds entries and overrides ours by
//! id, with no code. A setting without a source or a trade-off does not pass the lint.

use setting::Setting;

/// All settings by id.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    settings: Vec<Setting>,
}

impl Catalogue {
    /// The settings, ascending by id.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// The setting called `id`.
    pub fn get(&self, id: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.id == id)
    }
}
