// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts that irqbalance leaves alone, in the file that its distribution gives it.
//!
//! Debian and Ubuntu read `/etc/default/irqbalance`, Fedora, Red Hat and SUSE
//! `/etc/sysconfig/irqbalance`, Gentoo `/etc/conf.d/irqbalance`, and the variable with the program's arguments is called
//! `IRQBALANCE_ARGS` or `OPTIONS`. The unit says which:
//!
//! `EnvironmentFile=-/etc/default/irqbalance`
//! `ExecStart=/usr/sbin/irqbalance --foreground $OPTIONS`
//!
//! Ours is a block of lines at the end, which repeats the administrator's arguments; their own
//! lines stay as they are.

use machine::{Fact, Why};
use root::{Root, text};
use setting::{BAN_VARIABLES, BANS_BEGIN, BANS_END, Interrupts, assigned, without_bans};

const UNITS: [&str; 4] = [
    "/etc/systemd/system/irqbalance.service",
    "/run/systemd/system/irqbalance.service",
    "/usr/lib/systemd/system/irqbalance.service",
    "/lib/systemd/system/irqbalance.service",
];
const FILES: [&str; 3] =
    ["/etc/default/irqbalance", "/etc/sysconfig/irqbalance", "/etc/conf.d/irqbalance"];
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
///
/// # Errors
/// A file that tells is there and cannot be read.
pub(crate) fn home(root: &dyn Root) -> Fact<Option<Home>> {
    for path in UNITS {
        match text(root, path) {
            Err(Why::Absent) => {}
            unit => return unit.map(|unit| of_unit(&unit)),
        }
    }
    for path in FILES {
        match root.read(path) {
            Err(Why::Absent) => {}
            Err(why) => return Err(why),
            Ok(_) => {
                let variable = BAN_VARIABLES[0].to_owned();
                return Ok(Some(Home { path: path.to_owned(), variable }));
            }
        }
    }
    Ok(None)
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
    let variable = BAN_VARIABLES.iter().find(is_used)?;
    Some(Home { path: (*path).to_owned(), variable: (*variable).to_owned() })
}

/// Interrupts that the file bans, by us or by the administrator.
pub(crate) fn list(file: &[u8], variable: &str) -> Interrupts {
    setting::banned(file, &[variable])
}

/// Whether the file bans these, and nothing else but what the administrator bans.
pub(crate) fn is(file: &[u8], variable: &str, wanted: &Interrupts) -> bool {
    let theirs = list(&without_bans(file), variable);
    list(file, variable).0 == wanted.0.union(&theirs.0).copied().collect()
}

/// The file with these interrupts banned: our block replaced or added, every other byte kept. None
/// where the administrator's arguments end in a way that nothing can be added to.
pub(crate) fn with(file: &[u8], variable: &str, wanted: &Interrupts) -> Option<Vec<u8>> {
    let mut bytes = without_bans(file);
    let theirs = list(&bytes, variable);
    let words: Vec<String> =
        wanted.0.difference(&theirs.0).map(|number| format!("{BAN}{number}")).collect();
    if words.is_empty() {
        return Some(bytes);
    }
    let value = extended(assigned(&bytes, variable).unwrap_or_default(), &words.join(" "))?;
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(format!("{BANS_BEGIN}\n{variable}=").as_bytes());
    bytes.extend_from_slice(&value);
    bytes.extend_from_slice(format!("\n{BANS_END}\n").as_bytes());
    // An option that waits for its argument would take ours.
    is(&bytes, variable, wanted).then_some(bytes)
}

/// Where the value of an assignment ends, as systemd reads it (`parse_env_file_internal`,
/// src/basic/env-file.c): quotes open at the begin of a value or behind other quotes, and nowhere
/// else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    /// Nothing stands there.
    Empty,
    /// Quotes were closed by the byte there.
    Closed(usize),
    /// Without quotes.
    Bare,
    /// In quotes that the line does not close.
    Open(u8),
}

/// A value with more words, in the quotes that it has.
fn extended(value: &[u8], words: &str) -> Option<Vec<u8>> {
    let words = words.as_bytes();
    let quoted = |inner: &[u8]| Some([b"\"", inner, b" ", words, b"\""].concat());
    match tail(value)? {
        Tail::Empty => Some([b"\"", words, b"\""].concat()),
        Tail::Closed(at) => {
            let (inner, end) = value.split_at_checked(at)?;
            let space: &[u8] = if at == 1 { b"" } else { b" " };
            Some([inner, space, words, end].concat())
        }
        // What means something within quotes stays without.
        Tail::Bare if value.iter().any(|byte| matches!(byte, b'"' | b'\\' | b'$' | b'`')) => {
            Some([value, b" ", words].concat())
        }
        Tail::Bare => quoted(value),
        Tail::Open(_) => None,
    }
}

/// None where the line goes on behind its end.
fn tail(value: &[u8]) -> Option<Tail> {
    let mut tail = Tail::Empty;
    let mut bytes = value.iter().copied().enumerate();
    while let Some((at, byte)) = bytes.next() {
        tail = match (tail, byte) {
            (Tail::Open(quote), byte) if byte == quote => Tail::Closed(at),
            // Within single quotes a backslash is one.
            (Tail::Open(b'\''), _) => tail,
            (_, b'\\') => {
                bytes.next()?;
                if matches!(tail, Tail::Open(_)) { tail } else { Tail::Bare }
            }
            (Tail::Empty | Tail::Closed(_), b'"' | b'\'') => Tail::Open(byte),
            (Tail::Empty | Tail::Closed(_), byte) if byte.is_ascii_whitespace() => tail,
            (Tail::Empty | Tail::Closed(_), _) => Tail::Bare,
            (tail, _) => tail,
        };
    }
    Some(tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As Debian 12 ships it, with a line of an administrator.
    const DEBIAN: &str =
        "# Additional arguments\n#IRQBALANCE_ARGS=\nIRQBALANCE_ARGS=\"--hintpolicy=exact -i 9\"\n";
    const ARGS: &str = "IRQBALANCE_ARGS";

    fn set(numbers: &[u32]) -> Interrupts {
        numbers.iter().copied().collect()
    }

    fn added(file: &str, numbers: &[u32]) -> String {
        String::from_utf8(with(file.as_bytes(), ARGS, &set(numbers)).unwrap()).unwrap()
    }

    #[test]
    fn the_administrators_lines_stay() {
        let ours = added(DEBIAN, &[40, 41]);
        assert!(ours.starts_with(DEBIAN));
        assert!(ours.contains("\"--hintpolicy=exact -i 9 --banirq=40 --banirq=41\""), "{ours}");
        assert_eq!(list(ours.as_bytes(), ARGS), set(&[9, 40, 41]));
        assert!(is(ours.as_bytes(), ARGS, &set(&[40, 41])));
        assert!(is(ours.as_bytes(), ARGS, &set(&[9, 40, 41])));
        assert!(!is(ours.as_bytes(), ARGS, &set(&[40])));
        assert!(!is(ours.as_bytes(), ARGS, &set(&[40, 41, 42])));
        assert_eq!(added(&ours, &[9, 42]).matches("banirq").count(), 1);
        assert_eq!(without_bans(ours.as_bytes()), DEBIAN.as_bytes());
        assert_eq!(added(DEBIAN, &[9]), DEBIAN);
    }

    #[test]
    fn quotes_and_bytes_of_the_administrator_stay() {
        for (value, expected) in [
            (r#""--policyscript='/etc/my.sh'""#, r#""--policyscript='/etc/my.sh' --banirq=7""#),
            ("'-a \"b\"'", "'-a \"b\" --banirq=7'"),
            ("--policyscript='/etc/my.sh'", "\"--policyscript='/etc/my.sh' --banirq=7\""),
            ("--debug", "\"--debug --banirq=7\""),
            (r#"a"b""#, r#"a"b" --banirq=7"#),
            (r#""a" "b""#, r#""a" "b --banirq=7""#),
            (r#""a\"""#, r#""a\" --banirq=7""#),
            (r#""""#, r#""--banirq=7""#),
            ("", "\"--banirq=7\""),
        ] {
            let got = extended(value.as_bytes(), "--banirq=7");
            assert_eq!(got.as_deref(), Some(expected.as_bytes()), "{value}");
        }
        // Values that go on in the next line are left alone.
        for open in ["\"a", "'a", "a\\", "\"a\\"] {
            assert_eq!(extended(open.as_bytes(), "--banirq=7"), None, "{open}");
        }
        let latin = b"# caf\xe9\nIRQBALANCE_ARGS=\"--x=\xff\"\n";
        let ours = with(latin, ARGS, &set(&[7])).unwrap();
        assert!(ours.starts_with(latin));
        let line = b"=\"--x=\xff --banirq=7\"\n";
        assert!(ours.windows(line.len()).any(|bytes| bytes == line));
        assert_eq!(without_bans(&ours), latin);
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
        fn ours_comes_out_again(
            file in proptest::collection::vec("[A-Z=\"' a-z0-9\\\\-]{0,20}\n|OPTIONS=[\"' a-z\\\\=-]{0,20}\n", 0..6),
            numbers in proptest::collection::btree_set(0_u32..500, 0..9),
        ) {
            let file = file.concat();
            let wanted = Interrupts(numbers);
            if let Some(ours) = with(file.as_bytes(), "OPTIONS", &wanted) {
                prop_assert!(list(&ours, "OPTIONS").0.is_superset(&wanted.0));
                prop_assert!(is(&ours, "OPTIONS", &wanted));
                prop_assert_eq!(without_bans(&ours), file.into_bytes());
            }
        }
    }
}
