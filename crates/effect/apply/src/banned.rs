// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts that irqbalance leaves alone, in the file that its distribution gives it.
//!
//! Debian and Ubuntu read `/etc/default/irqbalance`, Fedora, Red Hat and SUSE
//! `/etc/sysconfig/irqbalance`, and the variable with the program's arguments is called
//! `IRQBALANCE_ARGS` or `OPTIONS`. The unit says which:
//!
//! `EnvironmentFile=-/etc/default/irqbalance`
//! `ExecStart=/usr/sbin/irqbalance --foreground $OPTIONS`
//!
//! Ours is a block of lines at the end, which repeats the administrator's arguments; their own
//! lines stay as they are.

use std::collections::BTreeSet;

use root::{Root, text};

const UNITS: [&str; 4] = [
    "/etc/systemd/system/irqbalance.service",
    "/run/systemd/system/irqbalance.service",
    "/usr/lib/systemd/system/irqbalance.service",
    "/lib/systemd/system/irqbalance.service",
];
const FILES: [&str; 2] = ["/etc/default/irqbalance", "/etc/sysconfig/irqbalance"];
const VARIABLES: [&str; 2] = ["IRQBALANCE_ARGS", "OPTIONS"];
const BEGIN: &str = "# nearside: interrupts that it placed; `nearside revert` takes this out";
const END: &str = "# nearside: end";
const BAN: &str = "--banirq=";

/// The file that irqbalance reads, and its variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    /// The file.
    pub(crate) path: String,
    /// The variable with the arguments.
    pub(crate) variable: String,
}

/// Finds it; none where irqbalance is not installed.
pub(crate) fn home(root: &dyn Root) -> Option<Home> {
    let unit = UNITS.iter().find_map(|path| text(root, path).ok());
    if let Some(unit) = unit {
        return of_unit(&unit);
    }
    let path = FILES.iter().find(|path| root.read(path).is_ok())?;
    Some(Home { path: (*path).to_owned(), variable: VARIABLES[0].to_owned() })
}

fn of_unit(unit: &str) -> Option<Home> {
    let mut files = unit.lines().filter_map(|line| line.trim().strip_prefix("EnvironmentFile="));
    let path = files.find_map(|file| {
        let file = file.trim_start_matches('-').trim();
        FILES.iter().find(|known| **known == file)
    })?;
    let start = unit.lines().find(|line| line.trim().starts_with("ExecStart="))?;
    let is_used = |name: &&&str| {
        let (plain, braced) = (format!("${name}"), format!("${{{name}}}"));
        start.split_whitespace().any(|word| word == plain || word == braced)
    };
    let variable = VARIABLES.iter().find(is_used)?;
    Some(Home { path: (*path).to_owned(), variable: (*variable).to_owned() })
}

/// Interrupts that the file bans, by us or by the administrator.
pub(crate) fn list(file: &str, variable: &str) -> BTreeSet<u32> {
    let mut words = arguments(file, variable).unwrap_or_default().into_iter().peekable();
    let mut banned = BTreeSet::new();
    while let Some(word) = words.next() {
        let number = match word.strip_prefix(BAN).or_else(|| word.strip_prefix("-i")) {
            Some("") | None if word == "-i" || word == "--banirq" => words.next(),
            Some(number) => Some(number.trim_start_matches('=').to_owned()),
            None => None,
        };
        banned.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    banned
}

/// The file with these interrupts banned: our block replaced or added, every other byte kept.
pub(crate) fn with(file: &str, variable: &str, banned: &BTreeSet<u32>) -> String {
    let mut text = without(file);
    let theirs = list(&text, variable);
    let ours: Vec<&u32> = banned.difference(&theirs).collect();
    if ours.is_empty() {
        return text;
    }
    let mut words = arguments(&text, variable).unwrap_or_default();
    words.extend(ours.into_iter().map(|number| format!("{BAN}{number}")));
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text + &format!("{BEGIN}\n{variable}=\"{}\"\n{END}\n", words.join(" "))
}

/// The file without our block.
pub(crate) fn without(file: &str) -> String {
    let Some((before, rest)) = file.split_once(BEGIN) else { return file.to_owned() };
    let after = rest.split_once(END).map_or("", |(_, after)| after);
    format!("{before}{}", after.strip_prefix('\n').unwrap_or(after))
}

/// The words of the variable's last assignment.
fn arguments(file: &str, variable: &str) -> Option<Vec<String>> {
    let value = |line: &str| {
        let value = line.trim().strip_prefix(variable)?.strip_prefix('=')?.trim().to_owned();
        Some(value.trim_matches(|c| matches!(c, '"' | '\'')).to_owned())
    };
    let last = file.lines().filter_map(value).next_back()?;
    Some(last.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As Debian 12 ships it, with a line of an administrator.
    const DEBIAN: &str =
        "# Additional arguments\n#IRQBALANCE_ARGS=\nIRQBALANCE_ARGS=\"--hintpolicy=exact -i 9\"\n";

    #[test]
    fn the_administrators_lines_stay() {
        let set = |numbers: &[u32]| numbers.iter().copied().collect::<BTreeSet<u32>>();
        let ours = with(DEBIAN, "IRQBALANCE_ARGS", &set(&[40, 41]));
        assert!(ours.starts_with(DEBIAN));
        assert!(ours.contains("\"--hintpolicy=exact -i 9 --banirq=40 --banirq=41\""), "{ours}");
        assert_eq!(list(&ours, "IRQBALANCE_ARGS"), set(&[9, 40, 41]));
        assert_eq!(with(&ours, "IRQBALANCE_ARGS", &set(&[9, 42])).matches("banirq").count(), 1);
        assert_eq!(without(&ours), DEBIAN);
        assert_eq!(with(DEBIAN, "IRQBALANCE_ARGS", &set(&[9])), DEBIAN);
    }

    #[test]
    fn the_unit_names_file_and_variable() {
        let unit = "[Service]\nEnvironmentFile=-/etc/default/irqbalance\nExecStart=/usr/sbin/irqbalance --foreground $OPTIONS\n";
        let home = of_unit(unit).unwrap();
        assert_eq!((home.path.as_str(), home.variable.as_str()), (FILES[0], "OPTIONS"));
        let red_hat = "EnvironmentFile=-/etc/sysconfig/irqbalance\nExecStart=/usr/sbin/irqbalance $IRQBALANCE_ARGS\n";
        let home = of_unit(red_hat).unwrap();
        assert_eq!((home.path.as_str(), home.variable.as_str()), (FILES[1], "IRQBALANCE_ARGS"));
        assert_eq!(of_unit("ExecStart=/usr/sbin/irqbalance\n"), None);
    }

    proptest! {
        #[test]
        fn ours_comes_out_again(file in "([A-Z=\" a-z0-9-]{0,20}\n){0,6}", banned in proptest::collection::btree_set(0_u32..500, 0..9)) {
            let ours = with(&file, "OPTIONS", &banned);
            prop_assert!(list(&ours, "OPTIONS").is_superset(&banned));
            prop_assert_eq!(without(&ours), file);
        }
    }
}
