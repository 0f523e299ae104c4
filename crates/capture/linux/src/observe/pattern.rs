// SPDX-License-Identifier: MIT OR Apache-2.0
//! Turns the path of a catalogue entry into the files of one device.

use root::Root;
use setting::Scope;

/// Files of the device called `name`: its place in braces is filled, then `*` is looked up.
///
/// `/sys/devices/system/cpu/cpu{cpu}/cpuidle/state*/disable` gives one file an idle state. Where
/// no name fits, the error is the folder that says so.
pub(super) fn expand(
    root: &dyn Root,
    pattern: &str,
    scope: Scope,
    name: &str,
) -> Result<Vec<String>, String> {
    let path = match place(scope) {
        Some(place) => pattern.replace(place, name),
        None => pattern.to_owned(),
    };
    let Some((before, after)) = path.split_once('*') else { return Ok(vec![path]) };
    let (folder, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let (suffix, rest) = match after.split_once('/') {
        Some((suffix, rest)) => (suffix, format!("/{rest}")),
        None => (after, String::new()),
    };
    let fits = |name: &&String| {
        name.len() >= prefix.len() + suffix.len()
            && name.starts_with(prefix)
            && name.ends_with(suffix)
    };
    let mut names = root.list(folder).unwrap_or_default();
    names.sort_by_key(|name| (name.len(), name.clone()));
    let found: Vec<String> =
        names.iter().filter(fits).map(|name| format!("{folder}/{name}{rest}")).collect();
    if found.is_empty() { Err(folder.to_owned()) } else { Ok(found) }
}

fn place(scope: Scope) -> Option<&'static str> {
    match scope {
        Scope::Machine => None,
        Scope::Cpu => Some("{cpu}"),
        Scope::Node => Some("{node}"),
        Scope::Function => Some("{function}"),
        Scope::Drive => Some("{drive}"),
        Scope::Nic => Some("{nic}"),
        Scope::ScsiHost => Some("{host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    #[test]
    fn a_star_stands_for_one_name() {
        let mut root = MemoryRoot::new();
        for state in [0, 2, 10] {
            root.file(&format!("/sys/cpu7/cpuidle/state{state}/disable"), "0");
        }
        root.file("/sys/cpu7/cpuidle/current_driver", "x");
        let found = expand(&root, "/sys/cpu{cpu}/cpuidle/state*/disable", Scope::Cpu, "7").unwrap();
        let states = found.iter().map(|path| path.trim_start_matches("/sys/cpu7/cpuidle/"));
        assert_eq!(
            states.collect::<Vec<_>>(),
            ["state0/disable", "state2/disable", "state10/disable"]
        );
        let none = expand(&root, "/sys/cpu{cpu}/thermal/*/x", Scope::Cpu, "7");
        assert_eq!(none, Err("/sys/cpu7/thermal".to_owned()));
        let tail = expand(&root, "/sys/cpu{cpu}/cpuidle/*_driver", Scope::Cpu, "7");
        assert_eq!(tail, Ok(vec!["/sys/cpu7/cpuidle/current_driver".to_owned()]));
    }
}
