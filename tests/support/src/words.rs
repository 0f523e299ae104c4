// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a finding is told: one style for titles, whole sentences for reasons.

/// The words of a finding.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// One line for the list.
    pub title: &'a str,
    /// Why it costs.
    pub because: &'a str,
    /// What is.
    pub observed: &'a str,
    /// What should be.
    pub wanted: &'a str,
    /// What the severity stands on.
    pub severity_from: &'a str,
}

/// Whether the words are in the style of the house.
///
/// # Errors
/// What is wrong with them.
pub fn well_said(told: &Told<'_>) -> Result<(), String> {
    let Told { title, because, observed, wanted, severity_from } = *told;
    let wrong = |what: &str| Err(format!("{what}: {told:#?}"));
    // Behind the devices stands a sentence, as it does where there are none. A sentence may have a
    // colon of its own.
    let is_names = |text: &str| ![" is ", " are ", " has "].iter().any(|verb| text.contains(verb));
    let sentence = match title.split_once(": ") {
        Some((names, sentence)) if is_names(names) => sentence,
        _ => title,
    };
    // Options and services are written as they are.
    let begins_low = |text: &str| {
        let first = text.split(' ').next().unwrap_or_default();
        let is_name = first == "irqbalance" || wanted == format!("without {first}");
        first.chars().all(|letter| letter.is_ascii_lowercase()) && !is_name
    };
    if title.is_empty() || title.ends_with('.') || title.contains('{') || title.contains("  ") {
        return wrong("the title is no title");
    }
    if begins_low(title) || begins_low(sentence) {
        return wrong("the title begins with a small letter");
    }
    if !sentence.contains(' ') {
        return wrong("the title is no sentence");
    }
    if !because.ends_with('.') || because.ends_with("..") || begins_low(because) {
        return wrong("the reason is no sentence");
    }
    if observed.is_empty() || wanted.is_empty() || observed == wanted {
        return wrong("nothing is to be changed");
    }
    if severity_from.is_empty() || severity_from.ends_with('.') {
        return wrong("the severity stands on nothing");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_sentence_is_told() {
        let good = Told {
            title: "eth0: The MTU is 9000, and below it eth1 has 1500",
            because: "eth0 makes what eth1 cannot take.",
            observed: "9000",
            wanted: "1500",
            severity_from: "packets are lost",
        };
        assert_eq!(well_said(&good), Ok(()));
        for bad in [
            Told { title: "eth0: MTU", ..good },
            Told { title: "eth0: the MTU is wrong", ..good },
            Told { title: "memory is uneven", ..good },
            Told { title: "The MTU is wrong.", ..good },
            Told { because: "it costs", ..good },
            Told { wanted: "9000", ..good },
            Told { severity_from: "", ..good },
        ] {
            assert!(well_said(&bad).is_err(), "{bad:?}");
        }
    }
}
