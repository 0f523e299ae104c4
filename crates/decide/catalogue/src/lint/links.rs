// SPDX-License-Identifier: MIT OR Apache-2.0
//! What entries say of one another: conflicts, order, and the vendors' names for them.

use setting::{Goal, Setting, WritePlace};

use crate::entry::{MappedName, Origin, VendorMap};
use crate::{Catalogue, Complaint};

use super::wish::goal_key;

/// Checks that `conflicts` and `after` name other settings, and that the order has no circle.
pub(crate) fn links(
    setting: &Setting,
    origin: &Origin,
    catalogue: &Catalogue,
    out: &mut Vec<Complaint>,
) {
    for (key, ids) in [("conflicts", &setting.conflicts), ("after", &setting.after)] {
        for id in ids {
            if id == &setting.id {
                let what = format!("`{key}` names the setting itself");
                out.push(origin.complain(key, what, "drop it"));
            } else if catalogue.get(id).is_none() {
                let what = format!("`{key}` names `{id}`, which is no setting");
                out.push(origin.complain(key, what, &help_for(id, catalogue)));
            }
        }
    }
    for rival in
        setting.conflicts.iter().filter(|id| **id != setting.id).filter_map(|id| catalogue.get(id))
    {
        wished_both(setting, rival, origin, out);
    }
    if is_after_itself(setting, catalogue) {
        let what = format!("`after` leads from `{}` back to itself", setting.id);
        out.push(origin.complain("after", what, "break the circle"));
    }
}

/// A goal that wishes for both of two that fight would plan the one after the other, and back.
fn wished_both(setting: &Setting, rival: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    let is_service = |entry: &Setting| {
        // A service that fights with a placement is told to spare it.
        entry.write.as_ref().and_then(|write| write.place) == Some(WritePlace::Service)
    };
    if is_service(setting) || is_service(rival) {
        return;
    }
    for goal in [Goal::Throughput, Goal::Latency, Goal::Balanced] {
        if setting.due(goal).is_some() && rival.due(goal).is_some() {
            let what =
                format!("the goal `{}` wishes for this and for `{}`", goal_key(goal), rival.id);
            let help = "drop one of the wishes; what two settings only share is a `trade-off`";
            out.push(origin.complain("conflicts", what, help));
        }
    }
}

fn help_for(id: &str, catalogue: &Catalogue) -> String {
    match catalogue.nearest(id).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => "add the entry or drop the name".to_owned(),
    }
}

/// Walks `after` from `start`; every setting is visited once, so any circle ends.
fn is_after_itself(start: &Setting, catalogue: &Catalogue) -> bool {
    let mut waiting: Vec<&str> = start.after.iter().map(String::as_str).collect();
    let mut seen: Vec<&str> = Vec::new();
    while let Some(id) = waiting.pop() {
        if id == start.id && !start.after.contains(&start.id) {
            return true;
        }
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        if let Some(setting) = catalogue.get(id) {
            waiting.extend(setting.after.iter().map(String::as_str));
        }
    }
    false
}

/// Checks a vendor's names: a source, settings that exist, values that they have.
pub(crate) fn vendor(
    map: &VendorMap,
    origin: &Origin,
    catalogue: &Catalogue,
    out: &mut Vec<Complaint>,
) {
    if map.vendor != origin.stem() {
        let what = format!("vendor `{}` is not the file's name `{}`", map.vendor, origin.stem());
        out.push(origin.complain("vendor", what, "rename the file or the vendor"));
    }
    if map.source.trim().is_empty() {
        let help = "say which registry or manual the names were read from";
        out.push(origin.complain("source", "`source` is empty".to_owned(), help));
    }
    for name in &map.name {
        mapped(name, origin, catalogue, out);
    }
}

fn mapped(name: &MappedName, origin: &Origin, catalogue: &Catalogue, out: &mut Vec<Complaint>) {
    let Some(setting) = catalogue.get(&name.setting) else {
        let what =
            format!("attribute `{}` names `{}`, which is no setting", name.attribute, name.setting);
        out.push(origin.complain("setting", what, &help_for(&name.setting, catalogue)));
        return;
    };
    for (ours, _) in &name.values {
        let known = setting.values.iter().any(|meaning| meaning.value == *ours);
        if !known && !setting.values.is_empty() {
            let what = format!(
                "attribute `{}` maps `{ours}`, which `{}` has not",
                name.attribute, setting.id
            );
            out.push(origin.complain("values", what, "use a value of the setting's `values`"));
        }
    }
}
