// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules of flow steering (`ethtool -N`), which nearside never sets and never loses: drivers drop
//! them when their feature is switched off (ice, i40e, ixgbe: `*_set_features`).

use journal::Raw;
use machine::Why;
use setting::{Ethtool, feature_name};

use crate::spot::Spot;
use crate::{Kernel, pairs};

/// What would be lost by writing these bytes, in a sentence; none where nothing would.
pub(crate) fn loss(kernel: &dyn Kernel, spot: &Spot, bytes: &Raw) -> Option<String> {
    let Spot::Ethtool(nic, Ethtool::Features) = spot else { return None };
    let filter = feature_name("ntuple");
    let asked = pairs::parse_features(bytes.trimmed());
    let is_off = asked.get(filter).is_some_and(|value| pairs::asked(value) == "off");
    let is_on = || {
        let now = pairs::parse(&kernel.ethtool(nic, &Ethtool::Features).ok()?);
        Some(pairs::active(now.get(filter)?) == "on")
    };
    if !is_off || is_on() != Some(true) {
        return None;
    }
    let look = format!("look with `ethtool -n {nic}`");
    match kernel.flow_rules(nic) {
        Ok(0) | Err(Why::Absent | Why::NotSupported) => None,
        Ok(1) => Some(format!("a rule of flow steering would be lost with it: {look}")),
        Ok(rules) => Some(format!("{rules} rules of flow steering would be lost with it: {look}")),
        Err(why) => Some(format!("rules of flow steering may be lost with it ({why}): {look}")),
    }
}
