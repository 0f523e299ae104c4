// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of ethtool as text: `rx=1024 tx=1024`, `rx-gro=on rx-lro=off`.
//!
//! Of a feature that is on or off against what was asked for, both are told: `off/on` is off now
//! and asked to be on.

use std::collections::BTreeMap;

use machine::Feature;
use setting::feature_names;

/// Names and values.
pub(crate) type Pairs = BTreeMap<String, String>;

/// Reads pairs of features, by the kernel's names: all that a short word stands for.
pub(crate) fn parse_features(text: &str) -> Pairs {
    let mut all = Pairs::new();
    for (word, value) in parse(text) {
        all.extend(feature_names(&word).into_iter().map(|name| (name.to_owned(), value.clone())));
    }
    all
}

/// Of the features that a wish stands for, those that can be changed, which `now` lists; the chief one
/// where none can, so that it is asked for and refused.
pub(crate) fn features_to_set(wanted: &str, now: &Pairs) -> Pairs {
    let mut all = Pairs::new();
    for (word, value) in parse(wanted) {
        let names = feature_names(&word);
        let mut known: Vec<&str> =
            names.iter().copied().filter(|name| now.contains_key(*name)).collect();
        if known.is_empty() {
            known.extend(names.first());
        }
        all.extend(known.into_iter().map(|name| (name.to_owned(), value.clone())));
    }
    all
}

/// Whether features are as wanted: a short word is on while any that it stands for is.
pub(crate) fn has_features(now: &Pairs, wanted: &str) -> bool {
    let is = |(word, value): (String, String)| {
        group(now, &word).is_some_and(|is| active(is) == active(&value))
    };
    parse(wanted).into_iter().all(is)
}

/// The value of a word's features: of the first that is on, else of the first.
fn group<'a>(now: &'a Pairs, word: &str) -> Option<&'a String> {
    let values = || feature_names(word).into_iter().filter_map(|name| now.get(name));
    values().find(|value| active(value) == "on").or_else(|| values().next())
}

/// Of `all` the pairs that `wanted` is about, by its names: what a person compares. All of them
/// where none is.
pub(crate) fn about(all: &str, wanted: &str) -> String {
    let known = parse(all);
    let pair = |name: String| {
        let value = known.get(&name).or_else(|| group(&known, &name))?.clone();
        Some((name, value))
    };
    let pairs: Pairs = parse(wanted).into_keys().filter_map(pair).collect();
    if pairs.is_empty() { all.to_owned() } else { print(&pairs) }
}

/// Reads pairs; words without `=` are left out.
pub(crate) fn parse(text: &str) -> Pairs {
    let pair = |word: &str| word.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()));
    text.split_whitespace().filter_map(pair).collect()
}

/// Pairs as text, by name.
pub(crate) fn print<'a>(pairs: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let words: Vec<String> =
        pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    words.join(" ")
}

/// Whether `now` has every wanted pair. Of a feature, what is active counts.
pub(crate) fn holds(now: &Pairs, wanted: &Pairs) -> bool {
    wanted.iter().all(|(name, value)| now.get(name).is_some_and(|is| active(is) == active(value)))
}

/// What a feature is now: `off` of `off/on`.
pub(crate) fn active(value: &str) -> &str {
    value.split_once('/').map_or(value, |(active, _)| active)
}

/// What a feature was asked to be: `on` of `off/on`.
pub(crate) fn asked(value: &str) -> &str {
    value.split_once('/').map_or(value, |(_, asked)| asked)
}

/// Features that can be changed.
pub(crate) fn features(all: &[Feature]) -> String {
    let word = |is_on: bool| if is_on { "on" } else { "off" };
    let value = |feature: &Feature| match feature.active == feature.wanted {
        true => word(feature.active).to_owned(),
        false => format!("{}/{}", word(feature.active), word(feature.wanted)),
    };
    let pairs: Pairs = all
        .iter()
        .filter(|feature| !feature.fixed)
        .map(|feature| (feature.name.clone(), value(feature)))
        .collect();
    print(&pairs)
}

/// Numbers as pairs; those that are switches print as such.
pub(crate) fn from_numbers<'a>(
    numbers: impl IntoIterator<Item = (&'a str, u32)>,
    switches: &[&str],
) -> String {
    let pairs: Pairs = numbers
        .into_iter()
        .map(|(name, value)| {
            let word = match (switches.contains(&name), value) {
                (true, 0) => "off".to_owned(),
                (true, _) => "on".to_owned(),
                (false, value) => value.to_string(),
            };
            (name.to_owned(), word)
        })
        .collect();
    print(&pairs)
}

/// Numbers of pairs; `on` is 1 and `off` is 0.
pub(crate) fn numbers(text: &str) -> Option<Vec<(String, u32)>> {
    let number = |value: &str| match value {
        "on" => Some(1),
        "off" => Some(0),
        number => number.parse().ok(),
    };
    parse(text).into_iter().map(|(name, value)| Some((name, number(&value)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_shown_what_the_wish_is_about() {
        for (all, wanted, shown) in [
            ("rx=256 rx-jumbo=512 tx=512", "rx=512", "rx=256"),
            ("rx-gro=on rx-lro=off tx-tcp-segmentation=on", "tso=off", "tso=on"),
            ("rx-gro=on rx-lro=off", "gro=off lro=off", "gro=on lro=off"),
            ("combined=4", "rx=2", "combined=4"),
            ("1500", "1400", "1500"),
        ] {
            assert_eq!(about(all, wanted), shown);
        }
    }

    #[test]
    fn features_tell_what_was_asked_for() {
        let feature = |name: &str, active, wanted, fixed| Feature {
            name: name.to_owned(),
            active,
            wanted,
            fixed,
        };
        let all = [
            feature("rx-gro", true, true, false),
            feature("rx-lro", false, false, false),
            feature("gso", false, true, false),
            feature("netns-local", false, false, true),
        ];
        let text = features(&all);
        assert_eq!(text, "gso=off/on rx-gro=on rx-lro=off");
        let now = parse(&text);
        assert!(holds(&now, &parse("rx-gro=on")) && holds(&now, &parse("gso=off")));
        assert!(!holds(&now, &parse("gso=on")) && !holds(&now, &parse("tso=off")));
        assert_eq!(asked("off/on"), "on");
    }

    #[test]
    fn a_short_word_is_all_that_it_stands_for() {
        let now = parse("tx-tcp-segmentation=off tx-tcp6-segmentation=on tx-udp-segmentation=on");
        assert!(has_features(&now, "tso=on") && !has_features(&now, "tso=off"));
        let set = print(&features_to_set("tso=off", &now));
        assert_eq!(set, "tx-tcp-segmentation=off tx-tcp6-segmentation=off");
        assert!(has_features(&parse(&set), "tso=off"));
        assert_eq!(about(&print(&now), "tso=off"), "tso=on");
        // What cannot be changed is asked for by its chief name.
        assert_eq!(print(&features_to_set("lro=on", &now)), "rx-lro=on");
        assert!(!has_features(&now, "lro=off"));
    }

    #[test]
    fn switches_are_numbers() {
        let numbers = numbers("adaptive-rx=off rx-usecs=80").unwrap();
        assert_eq!(numbers, [("adaptive-rx".to_owned(), 0), ("rx-usecs".to_owned(), 80)]);
        assert_eq!(super::numbers("rx=many"), None);
    }
}
