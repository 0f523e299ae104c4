// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where tools' texts lie beside a machine, and which command and interface each is of.

use std::io::Read;

use machine::{Fact, Why};

use super::{Answers, ethtool};
use crate::{Question, Root, SMALL};

/// Where sosreport keeps what the commands of its networking plugin printed
/// (sos/report/plugins/networking.py), below the folder that holds `sys`.
const SOS: &str = "sos_commands/networking";

/// Where a folder `tree` has what tools said in one file beside it, a headed section a command.
const SECTIONS: &str = "say/ethtool.txt";
const TREE: &str = "tree";

/// Bytes of text taken from one machine; `ethtool -k` prints some 3 KB an interface.
const MOST_BYTES: usize = 8 << 20;

/// Answers taken from one machine: seven for each of a few thousand interfaces.
const MOST_ANSWERS: usize = 20_000;

/// Answers that lie beside the machine at `name` in what was opened; `name` is empty for the top.
pub(crate) fn gather(opened: &dyn Root, name: &str) -> Answers {
    let mut answers = Answers::new();
    let machine = if name.is_empty() { String::new() } else { format!("/{name}") };
    sos(opened, &format!("{machine}/{SOS}"), &mut answers);
    if let Some(above) = machine.strip_suffix(&format!("/{TREE}")) {
        sections(opened, &format!("{above}/{SECTIONS}"), &mut answers);
    }
    answers
}

fn sos(opened: &dyn Root, folder: &str, answers: &mut Answers) {
    let mut left = MOST_BYTES;
    for file in opened.list(folder).unwrap_or_default() {
        let Some((flag, name)) = sos_command(&file) else { continue };
        let Ok(bytes) = opened.read(&format!("{folder}/{file}")) else { continue };
        // What was cut may lack the line that matters.
        if bytes.len() >= SMALL {
            continue;
        }
        if bytes.len() > left || answers.len() >= MOST_ANSWERS {
            return;
        }
        left -= bytes.len();
        let text = String::from_utf8_lossy(&bytes);
        let stated = ethtool::interface(&text).unwrap_or(name);
        if mangled(stated) == name {
            keep(flag, stated, ethtool::answer(flag, &text), answers);
        } else {
            let why = Why::Unparsed(format!("{file} is about {stated}"));
            keep(flag, name, Some(Err(why)), answers);
        }
    }
}

/// `ethtool_-l_eth0`: the flag and the interface's name as far as a file's name can hold it.
fn sos_command(file: &str) -> Option<(&str, &str)> {
    file.strip_prefix("ethtool_")?.split_once('_')
}

/// A name as sosreport writes it into a file's name: what is neither a letter, a digit, nor one of
/// `_-.` becomes `_`, a run of them one `_` (`mangle_command`, sos/utilities.py).
fn mangled(name: &str) -> String {
    let mut mangled = String::new();
    let mut is_in_run = false;
    for c in name.chars() {
        let is_kept = c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        match (is_kept, is_in_run) {
            (true, _) => mangled.push(c),
            (false, false) => mangled.push('_'),
            (false, true) => {}
        }
        is_in_run = !is_kept;
    }
    mangled
}

/// Sections headed `== ethtool -l eth0`; any other line that begins with `== ` ends one.
fn sections(opened: &dyn Root, path: &str, answers: &mut Answers) {
    let Ok(text) = text(opened, path) else { return };
    let mut section: Option<(&str, &str, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(command) = line.strip_prefix("== ") {
            close(&text, section.take(), at, answers);
            if answers.len() >= MOST_ANSWERS {
                return;
            }
            let mut words = command.split_ascii_whitespace();
            section = match (words.next(), words.next(), words.next(), words.next()) {
                (Some("ethtool"), Some(flag), Some(name), None) => {
                    Some((flag, name, at + line.len()))
                }
                _ => None,
            };
        }
        at += line.len();
    }
    close(&text, section, at, answers);
}

/// Ends the section (flag, name, start) before `end`.
fn close(text: &str, section: Option<(&str, &str, usize)>, end: usize, answers: &mut Answers) {
    let Some((flag, name, start)) = section else { return };
    let text = text.get(start..end).unwrap_or_default();
    let answer = match ethtool::interface(text) {
        Some(stated) if stated != name => {
            Some(Err(Why::Unparsed(format!("a section of {name} is about {stated}"))))
        }
        _ => ethtool::answer(flag, text),
    };
    keep(flag, name, answer, answers);
}

/// The file, up to where its last whole section ends if it is longer than what is taken.
fn text(opened: &dyn Root, path: &str) -> Fact<String> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    let read = opened.stream(path)?.take(most).read_to_end(&mut bytes);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if read.is_err() || bytes.len() >= MOST_BYTES {
        text.truncate(text.rfind("\n== ").map_or(0, |end| end + 1));
    }
    Ok(text)
}

/// The first answer to a question stays.
fn keep(flag: &str, name: &str, answer: Option<Fact<String>>, answers: &mut Answers) {
    if let (Some(question), Some(answer)) = (question(flag, name), answer) {
        answers.entry(question).or_insert(answer);
    }
}

fn question(flag: &str, name: &str) -> Option<Question> {
    let of: fn(String) -> Question = match flag {
        "-l" => Question::Channels,
        "-g" => Question::Rings,
        "-c" => Question::Coalescing,
        "-a" => Question::Pause,
        "-k" => Question::Features,
        "-i" => Question::Driver,
        "-x" => Question::ReceiveSpread,
        _ => return None,
    };
    // `IFNAMSIZ`, include/uapi/linux/if.h, counts the zero at the end.
    (1..16).contains(&name.len()).then(|| of(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryRoot;
    use proptest::prelude::*;

    const RINGS: &str =
        "Pre-set maximums:\nRX: 8\nTX: 8\nCurrent hardware settings:\nRX: 4\nTX: 8\n";

    fn rings(answers: &Answers, name: &str) -> Option<Fact<String>> {
        answers.get(&Question::Rings(name.to_owned())).cloned()
    }

    fn said(now: u32) -> String {
        format!(r#"{{"rx":[{now},8],"rx_mini":null,"rx_jumbo":null,"tx":[8,8]}}"#)
    }

    #[test]
    fn names_are_mangled_as_sosreport_does() {
        for (name, expected) in [
            ("eth0.100", "eth0.100"),
            ("wlan-0_a", "wlan-0_a"),
            ("a:@b", "a_b"),
            ("eth0:1", "eth0_1"),
        ] {
            assert_eq!(mangled(name), expected);
        }
    }

    #[test]
    fn files_of_a_sosreport_answer_for_the_interface_that_they_name() {
        let mut root = MemoryRoot::new();
        let folder = "/sos-x/sos_commands/networking";
        root.file(&format!("{folder}/ethtool_-g_eth0"), RINGS)
            .file(&format!("{folder}/ethtool_-g_a_b"), format!("Ring parameters for a:b:\n{RINGS}"))
            .file(
                &format!("{folder}/ethtool_-g_eth1"),
                format!("Ring parameters for eth0:\n{RINGS}"),
            )
            .file(&format!("{folder}/ethtool_-g_eth2"), "")
            .file(&format!("{folder}/ethtool_-g_eth3"), vec![b'x'; SMALL + 1])
            .file(&format!("{folder}/ethtool_-g_a-name-too-long-for-linux"), RINGS)
            .file(&format!("{folder}/ethtool_-S_eth0"), RINGS)
            .file(&format!("{folder}/ethtool_eth0"), RINGS);
        let answers = gather(&root, "sos-x");
        assert_eq!(rings(&answers, "eth0"), Some(Ok(said(4))));
        assert_eq!(rings(&answers, "a:b"), Some(Ok(said(4))));
        let other = Why::Unparsed("ethtool_-g_eth1 is about eth0".to_owned());
        assert_eq!(rings(&answers, "eth1"), Some(Err(other)));
        assert_eq!(answers.len(), 3);
        assert!(gather(&root, "").is_empty());
    }

    #[test]
    fn sections_answer_until_the_next_heading() {
        let mut root = MemoryRoot::new();
        let other = RINGS.replace("RX: 4", "RX: 2");
        let text = format!(
            "== uname -a\nLinux\n== ethtool -g eth0\n{RINGS}== ethtool -g eth0\n{other}\
             == ethtool -g eth1 more\n{RINGS}== ethtool -g eth2\nRing parameters for x:\n{RINGS}\
             == ethtool -g eth3\n{other}"
        );
        root.file("/m/say/ethtool.txt", text);
        let answers = gather(&root, "m/tree");
        assert_eq!(rings(&answers, "eth0"), Some(Ok(said(4))), "the first one stays");
        assert_eq!(rings(&answers, "eth1"), None);
        let other = Why::Unparsed("a section of eth2 is about x".to_owned());
        assert_eq!(rings(&answers, "eth2"), Some(Err(other)));
        assert_eq!(rings(&answers, "eth3"), Some(Ok(said(2))));
        assert!(gather(&root, "m").is_empty() && gather(&root, "m/subtree").is_empty());
    }

    #[test]
    fn a_text_without_end_is_cut_before_the_section_that_has_none() {
        let mut text = format!("== ethtool -g eth0\n{RINGS}== ethtool -g eth1\n{RINGS}");
        text.push_str(&"x\n".repeat(MOST_BYTES / 2));
        let mut root = MemoryRoot::new();
        root.file("/say/ethtool.txt", text);
        let answers = gather(&root, "tree");
        assert_eq!(rings(&answers, "eth0"), Some(Ok(said(4))));
        assert_eq!(rings(&answers, "eth1"), None);
    }

    #[test]
    fn answers_without_end_are_not_kept() {
        let mut text = String::new();
        for number in 0..30_000 {
            text.push_str(&format!("== ethtool -g e{number}\nnetlink error: No such device\n"));
        }
        let mut root = MemoryRoot::new();
        root.file("/say/ethtool.txt", text);
        assert_eq!(gather(&root, "tree").len(), MOST_ANSWERS);
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_left(
            text in "((== )?(ethtool )?(-[lgckaix] )?(eth[01]|RX: [0-9]|\\PC{0,6})[: ]?\n?){0,30}",
        ) {
            let mut root = MemoryRoot::new();
            root.file("/say/ethtool.txt", &text)
                .file("/tree/sos_commands/networking/ethtool_-k_eth0", &text);
            for (question, answer) in gather(&root, "tree") {
                prop_assert!(answer != Err(Why::Absent) || text.contains("evice"), "{question:?}");
            }
        }
    }
}
