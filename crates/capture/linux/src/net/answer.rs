// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers of ethtool, which a root gives as JSON.

use machine::{Fact, Why};
use root::{Question, Root};

/// The driver by `ethtool -i`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Driver {
    /// Its name.
    pub(crate) driver: Option<String>,
    /// Firmware version, where it tells one.
    pub(crate) firmware: Option<String>,
}

/// An answer as a value.
pub(crate) fn json<T: serde::de::DeserializeOwned>(
    root: &dyn Root,
    question: &Question,
) -> Fact<T> {
    let text = root.ask(question)?;
    serde_json::from_str(&text).map_err(|_| Why::unparsed(&text))
}

/// Asks for the driver. `N/A` is how drivers say that they have no firmware version.
pub(crate) fn driver(root: &dyn Root, name: &str) -> Fact<Driver> {
    let answer: serde_json::Value = json(root, &Question::Driver(name.to_owned()))?;
    let text = |key: &str| {
        let value = answer.get(key)?.as_str()?.trim();
        (!value.is_empty() && value != "N/A").then(|| value.to_owned())
    };
    Ok(Driver { driver: text("driver"), firmware: text("firmware") })
}
