// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small pieces of text that rules share: lists of names, counts, cut lines.

use machine::Why;
use units::CpuSet;
pub(crate) use units::{count, natural};

/// Up to three names in full, else the first two and how many more there are.
pub(crate) fn names(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [one, two] => format!("{one} and {two}"),
        [one, two, three] => format!("{one}, {two} and {three}"),
        [one, two, rest @ ..] => format!("{one}, {two} and {} more", rest.len()),
    }
}

/// `1 queue is`, `8 queues are`.
pub(crate) fn are(number: impl Into<u64>, word: &str) -> String {
    match number.into() {
        1 => format!("1 {word} is"),
        number => format!("{number} {word}s are"),
    }
}

/// `all 8 queues are far`, `3 of 8 queues are far`, `1 of 8 queues is far`: a subject and its verb, at
/// the beginning of a sentence.
pub(crate) fn share(part: usize, all: usize, word: &str, is: &str, are: &str) -> String {
    match (part, all) {
        (_, 1) => format!("The only {word} {is}"),
        (part, all) if part == all => format!("All {all} {word}s {are}"),
        (1, all) => format!("1 of {all} {word}s {is}"),
        (part, all) => format!("{part} of {all} {word}s {are}"),
    }
}

/// The text with a capital letter at its beginning.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A text as a sentence begins: with a capital letter, unless its first word is a name, which is
/// spelled as it is.
pub(crate) fn sentence(text: &str, names: &[String]) -> String {
    let first = text.split(' ').next().unwrap_or_default().trim_end_matches([':', ',']);
    let is_word = first.chars().all(|letter| letter.is_ascii_lowercase());
    let is_name = first == "irqbalance" || names.iter().any(|name| name == first);
    if is_word && !is_name { capital(text) } else { text.to_owned() }
}

/// A reason as whole sentences.
pub(crate) fn reason(text: &str, names: &[String]) -> String {
    let text = sentence(text.trim(), names);
    if text.is_empty() || text.ends_with('.') { text } else { format!("{text}.") }
}

/// `node 1`, `nodes 0, 1 and 3`: numbers in ascending order.
pub(crate) fn numbers<T: std::fmt::Display>(
    word: &str,
    numbers: impl IntoIterator<Item = T>,
) -> String {
    let all: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
    match all.split_last() {
        None => format!("no {word}"),
        Some((one, [])) => format!("{word} {one}"),
        Some((last, rest)) => format!("{word}s {} and {last}", rest.join(", ")),
    }
}

/// `CPU 4`, `CPUs 4-7,20-23`.
pub(crate) fn cpus(set: &CpuSet) -> String {
    if set.len() == 1 { format!("CPU {set}") } else { format!("CPUs {set}") }
}

/// As `cpus`, with the first CPUs and their number alone where the list has more than 16 parts.
pub(crate) fn some_cpus(set: &CpuSet) -> String {
    if set.to_string().matches(',').count() < 16 {
        return cpus(set);
    }
    format!("CPUs {}, {} in all", first_cpus(set), set.len())
}

/// The first four, and a sign that there are more.
pub(crate) fn first_cpus(set: &CpuSet) -> String {
    let shown: Vec<String> = set.iter().take(4).map(|cpu| cpu.to_string()).collect();
    let more = if set.len() > 4 { ",…" } else { "" };
    format!("{}{more}", shown.join(","))
}

/// Whether a name can stand in a command as it is.
pub(crate) fn is_plain(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || " :.-_,@".contains(letter))
}

/// A reason as the word that replaces a value.
pub(crate) fn unknown(why: &Why) -> String {
    format!("unknown ({why})")
}

#[cfg(test)]
mod tests {
    use units::Cpu;

    use super::*;

    #[test]
    fn many_names_are_two_and_a_count() {
        let list: Vec<String> = (0..24).map(|number| format!("nvme{number}n1")).collect();
        assert_eq!(names(&list), "nvme0n1, nvme1n1 and 22 more");
        assert_eq!(names(&list[..3]), "nvme0n1, nvme1n1 and nvme2n1");
        assert_eq!(numbers("node", [0, 1, 3]), "nodes 0, 1 and 3");
        assert_eq!(numbers("node", [1]), "node 1");
    }

    #[test]
    fn a_share_is_a_subject_with_its_verb() {
        let told = |part, all| share(part, all, "queue", "is far", "are far");
        assert_eq!(told(1, 1), "The only queue is far");
        assert_eq!(told(1, 8), "1 of 8 queues is far");
        assert_eq!(told(3, 8), "3 of 8 queues are far");
        assert_eq!(told(8, 8), "All 8 queues are far");
        assert_eq!(are(1_u32, "queue"), "1 queue is");
        assert_eq!(capital("nodes 1 and 2"), "Nodes 1 and 2");
    }

    #[test]
    fn a_sentence_begins_with_a_capital_or_a_name() {
        let names = ["lan".to_owned()];
        for (text, expected) in [
            ("controller 0000:01:00.0: The", "Controller 0000:01:00.0: The"),
            ("lan: The MTU", "lan: The MTU"),
            ("eth0: The MTU", "eth0: The MTU"),
            ("idle=halt allows", "idle=halt allows"),
            ("irqbalance runs", "irqbalance runs"),
            ("", ""),
        ] {
            assert_eq!(sentence(text, &names), expected);
        }
        assert_eq!(reason("it may sleep. so", &[]), "It may sleep. so.");
        assert_eq!(reason("It may sleep.", &[]), "It may sleep.");
    }

    #[test]
    fn a_long_list_of_cpus_is_its_first_and_a_number() {
        let odd = |most: u32| (0..most).map(|n| Cpu(2 * n + 1)).collect::<CpuSet>();
        assert_eq!(some_cpus(&odd(1)), "CPU 1");
        assert_eq!(some_cpus(&odd(2)), "CPUs 1,3");
        assert_eq!(some_cpus(&odd(64)), "CPUs 1,3,5,7,…, 64 in all");
    }
}
