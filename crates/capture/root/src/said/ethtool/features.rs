// SPDX-License-Identifier: MIT OR Apache-2.0
//! Features as `ethtool -k` prints them, under the kernel's names.
//!
//! The program groups features under words older than the kernel's names: a word alone on its line
//! is the one feature of its group, a word above indented lines sums them up and is no feature.

use machine::{Fact, Feature, Why};

use super::{on_off, refusal, unparsed};

/// More than the kernel can have: `netdev_features_t` has 64 bits.
const MOST: usize = 256;

/// Words for groups and the feature that is alone in them (`off_flag_def`, ethtool's common.c);
/// none where the group has several. That of UDP fragmentation has one or, since Linux 4.14, none,
/// and is printed all the same.
const WORDS: [(&str, Option<&str>); 12] = [
    ("rx-checksumming", Some("rx-checksum")),
    ("tx-checksumming", None),
    ("scatter-gather", None),
    ("tcp-segmentation-offload", None),
    ("udp-fragmentation-offload", None),
    ("generic-segmentation-offload", Some("tx-generic-segmentation")),
    ("generic-receive-offload", Some("rx-gro")),
    ("large-receive-offload", Some("rx-lro")),
    ("rx-vlan-offload", Some("rx-vlan-hw-parse")),
    ("tx-vlan-offload", Some("tx-vlan-hw-insert")),
    ("ntuple-filters", Some("rx-ntuple-filter")),
    ("receive-hashing", Some("rx-hashing")),
];

/// ```text
/// Features for eth0:
/// tx-checksumming: on
///     tx-checksum-ipv4: off [fixed]
/// large-receive-offload: off [requested on]
/// ```
pub(super) fn parse(text: &str) -> Fact<Vec<Feature>> {
    let mut features = Vec::new();
    let mut is_any = false;
    for line in text.lines() {
        let Some((word, state)) = word(line) else { continue };
        is_any = true;
        let Some(name) = kernel_name(word) else { continue };
        if features.len() >= MOST {
            return Err(Why::Unparsed(format!("more than {MOST} features")));
        }
        features.push(feature(name, state)?);
    }
    if is_any { Ok(features) } else { Err(refusal::parse(text)) }
}

/// A line that is of a feature or a group: one word, and what begins with its state.
fn word(line: &str) -> Option<(&str, &str)> {
    let (word, state) = line.split_once(':')?;
    let (word, state) = (word.trim(), state.trim());
    let is_word = !word.is_empty() && !word.contains(char::is_whitespace);
    let is_state = matches!(state.split(' ').next(), Some("on" | "off"));
    (is_word && is_state).then_some((word, state))
}

fn kernel_name(word: &str) -> Option<&str> {
    match WORDS.iter().find(|(known, _)| *known == word) {
        Some((_, name)) => *name,
        None => Some(word),
    }
}

/// `off [requested on]`. What cannot be changed is wanted by nobody, as the kernel has it. Kernels
/// before 2.6.39 tell of nothing that it is fixed.
fn feature(name: &str, text: &str) -> Fact<Feature> {
    let (state, note) = text.split_once(' ').unwrap_or((text, ""));
    let active = on_off(state)?;
    let (wanted, fixed) = match note.trim() {
        "" => (active, false),
        "[fixed]" => (false, true),
        "[requested on]" => (true, false),
        "[requested off]" => (false, false),
        _ => return Err(unparsed(text)),
    };
    Ok(Feature { name: name.to_owned(), active, wanted, fixed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, bool, bool, bool)> {
        let features = parse(text).unwrap().into_iter();
        features.map(|f| (f.name, f.active, f.wanted, f.fixed)).collect()
    }

    #[test]
    fn groups_go_and_old_words_become_the_kernels_names() {
        let text = "Features for eth0:\nrx-checksumming: on [fixed]\ntx-checksumming: on\n\
                    \ttx-checksum-ipv4: off [fixed]\n\ttx-checksum-ip-generic: on\n\
                    generic-receive-offload: on\nlarge-receive-offload: off [requested on]\n\
                    ntuple-filters: on [requested off]\nhw-tc-offload: off\n";
        let expected = [
            ("rx-checksum", true, false, true),
            ("tx-checksum-ipv4", false, false, true),
            ("tx-checksum-ip-generic", true, true, false),
            ("rx-gro", true, true, false),
            ("rx-lro", false, true, false),
            ("rx-ntuple-filter", true, false, false),
            ("hw-tc-offload", false, false, false),
        ];
        let expected =
            expected.map(|(name, active, wanted, fixed)| (name.to_owned(), active, wanted, fixed));
        assert_eq!(parsed(text), expected);
    }

    /// RHEL 6 prints refusals among the lines.
    #[test]
    fn the_old_layout_tells_of_single_features() {
        let text = "Cannot get device udp-fragmentation-offload settings: Operation not supported\n\
                    Offload parameters for eth0:\nrx-checksumming: on\nscatter-gather: on\n\
                    tcp-segmentation-offload: off\ngeneric-receive-offload: off\n";
        let expected = [("rx-checksum", true, true, false), ("rx-gro", false, false, false)];
        let expected =
            expected.map(|(name, active, wanted, fixed)| (name.to_owned(), active, wanted, fixed));
        assert_eq!(parsed(text), expected);
    }

    #[test]
    fn what_is_no_list_of_features_has_a_reason() {
        assert_eq!(parse("netlink error: Operation not supported\n"), Err(Why::NotSupported));
        assert_eq!(parse("rx-gro: on [maybe]\n"), Err(Why::Unparsed("on [maybe]".to_owned())));
        assert_eq!(parse("what is this\n"), Err(Why::Unparsed("what is this".to_owned())));
        let many: String = (0..300).map(|number| format!("f{number}: on\n")).collect();
        assert_eq!(parse(&many), Err(Why::Unparsed("more than 256 features".to_owned())));
    }
}
