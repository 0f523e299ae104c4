// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quotes what was read: each line of evidence gets the text or the bytes that the root gave.
//!
//! It asks only what the readers asked before, so that a capture answers it like the machine
//! itself. It says nothing of its own: what a quotation means is told by who asked for it.

use machine::{Fact, Why};
use root::{Question, Root};
use setting::{Evidence, Part, Span};

use crate::{dmi, pci};

/// A quotation is cut here, in characters.
const MOST: usize = 400;

/// Fills in the content of what was not quoted yet. Where there is none, the reason stands beside.
pub fn quote<'a>(root: &dyn Root, lines: impl IntoIterator<Item = &'a mut Evidence>) {
    let open = lines.into_iter().filter(|line| line.content.is_none());
    for line in open {
        let first = of(root, &line.path, &line.part);
        let other = line.or.take().filter(|_| first.is_err());
        let second = other.and_then(|path| Some((of(root, &path, &line.part).ok()?, path)));
        match (second, first) {
            (Some(((_, said), path)), _) => (line.path, line.content) = (path, Some(said)),
            (None, Ok((Some(path), said))) => (line.path, line.content) = (path, Some(said)),
            (None, Ok((None, said))) => line.content = Some(said),
            (None, Err(why)) if line.means.is_none() => line.means = Some(why.to_string()),
            (None, Err(_)) => {}
        }
    }
}

/// What a part of a path says, and the path itself where it says so from another.
fn of(root: &dyn Root, path: &str, part: &Part) -> Fact<(Option<String>, String)> {
    if let Part::Module(locator, bank) = part {
        let (path, bytes) = dmi::module(root, locator, bank)?;
        return Ok((Some(path), cut(&spaced(&bytes))));
    }
    Ok((None, cut(&said(root, path, part)?)))
}

fn said(root: &dyn Root, path: &str, part: &Part) -> Fact<String> {
    let bytes = |head: fn(&[u8]) -> Fact<usize>, span| {
        let bytes = root.read(path)?;
        hex(&bytes, head(&bytes)?, span)
    };
    match part {
        Part::Start => root::text(root, path),
        Part::Line(words) => Ok(line(&text(root, path)?, words)),
        Part::Names => Ok(root.list(path)?.join(" ")),
        Part::Name(name) => {
            let names = root.list(path)?;
            names.into_iter().find(|each| each == name).ok_or(Why::Absent)
        }
        Part::Target => root.link(path),
        Part::Answer => root.ask(&question(path).ok_or(Why::NotSupported)?),
        Part::Item(name) => {
            let said = root.ask(&question(path).ok_or(Why::NotSupported)?)?;
            item(&said, name).ok_or(Why::Absent)
        }
        Part::Bytes(span) => bytes(|_| Ok(0), *span),
        Part::Express(span) => bytes(pci::config::express, *span),
        Part::Extended(id, span) => {
            let bytes = root.read(path)?;
            hex(&bytes, pci::config::extended(&bytes, *id)?, *span)
        }
        Part::Module(..) => Err(Why::NotSupported),
    }
}

/// A file's text as far as it is some: /proc/cpuinfo of a large machine is longer than one reading,
/// and may be cut within a letter.
fn text(root: &dyn Root, path: &str) -> Fact<String> {
    Ok(String::from_utf8_lossy(&root.read(path)?).into_owned())
}

/// The first line that holds `words`; of a long one, from there on.
fn line(text: &str, words: &str) -> String {
    let found = text.lines().find(|line| line.contains(words));
    let line = found.or(text.lines().next()).unwrap_or_default().trim();
    if line.chars().count() <= MOST {
        return line.to_owned();
    }
    let from = line.find(words).and_then(|at| line.get(at..));
    from.unwrap_or(line).to_owned()
}

/// `ethtool -l eth0`, `nvme get-feature -f 0x0c /dev/nvme0`: what a person would type to ask it.
fn question(words: &str) -> Option<Question> {
    let (command, device) = words.rsplit_once(' ')?;
    let name = device.trim_start_matches("/dev/").to_owned();
    Some(match command {
        "ethtool -l" => Question::Channels(name),
        "ethtool -g" => Question::Rings(name),
        "ethtool -c" => Question::Coalescing(name),
        "ethtool -a" => Question::Pause(name),
        "ethtool -k" => Question::Features(name),
        "ethtool -x" => Question::ReceiveSpread(name),
        "nvme id-ctrl" => Question::NvmeIdentify(name),
        "nvme get-feature -f 0x0c" => Question::NvmeApst(name),
        _ => return None,
    })
}

/// `{"name":"rx-gro","active":true,...}` out of a list of such.
fn item(list: &str, name: &str) -> Option<String> {
    let at = list.find(&format!("\"name\":\"{name}\""))?;
    let (before, after) = list.split_at_checked(at)?;
    let (start, end) = (before.rfind('{')?, after.find('}')?);
    Some(format!("{}{}", before.get(start..)?, after.get(..=end)?))
}

/// `0x98: 2f 59`: bytes from `head` on, after the place of the first.
fn hex(bytes: &[u8], head: usize, span: Span) -> Fact<String> {
    let at = head.saturating_add(usize::from(span.at));
    let end = at.saturating_add(usize::from(span.length));
    let part = bytes.get(at..end).ok_or(Why::Absent)?;
    Ok(format!("{at:#04x}: {}", spaced(part)))
}

/// Bytes as `2f 59`.
pub(crate) fn spaced(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    fn quoted(root: &MemoryRoot, line: Evidence) -> (Option<String>, Option<String>) {
        let mut lines = [line];
        quote(root, &mut lines);
        let [line] = lines;
        (line.content, line.means)
    }

    #[test]
    fn each_part_is_as_it_was_read() {
        let mut root = MemoryRoot::new();
        root.file("/proc/meminfo", "MemTotal:  5 kB\nMemFree:   1 kB\n")
            .file("/sys/bytes", [1, 2, 0xfe])
            .file("/sys/old", "1\n")
            .symlink("/sys/link", "../../iommu_groups/3");
        root.file("/sys/folder/a", "").file("/sys/folder/b", "");
        let span = Span::new(1, 2);
        let cases = [
            (Evidence::line("/proc/meminfo", "MemFree"), "MemFree:   1 kB"),
            (Evidence::file("/sys/new").or("/sys/old"), "1"),
            (Evidence::new("/sys/bytes", Part::Bytes(span)), "0x01: 02 fe"),
            (Evidence::new("/sys/folder", Part::Names), "a b"),
            (Evidence::new("/sys/folder", Part::Name("b".to_owned())), "b"),
            (Evidence::new("/sys/link", Part::Target), "../../iommu_groups/3"),
            (Evidence::quoted("/sys/old", "0"), "0"),
        ];
        for (line, said) in cases {
            assert_eq!(quoted(&root, line.clone()).0.as_deref(), Some(said), "{line:?}");
        }
    }

    #[test]
    fn what_says_nothing_has_a_reason() {
        let mut root = MemoryRoot::new();
        root.file("/sys/bytes", [1]).refuse("/sys/secret", Why::Denied);
        let reason = |line| quoted(&root, line);
        let why = |text: &str| (None, Some(text.to_owned()));
        assert_eq!(reason(Evidence::file("/sys/none")), why("absent"));
        assert_eq!(reason(Evidence::file("/sys/secret")), why("permission denied"));
        let span = Span::new(u16::MAX, u16::MAX);
        assert_eq!(reason(Evidence::new("/sys/bytes", Part::Bytes(span))), why("absent"));
        assert_eq!(reason(Evidence::new("rm -rf eth0", Part::Answer)), why("not supported"));
    }

    #[test]
    fn a_long_line_is_quoted_around_its_words() {
        let long = format!("flags : {} vmx {}", "x ".repeat(500), "y ".repeat(500));
        let said = line(&format!("processor : 0\n{long}\n"), " vmx");
        assert!(said.starts_with(" vmx y"), "{said}");
        assert_eq!(line("flags : a b", "nothing"), "flags : a b");
    }
}
