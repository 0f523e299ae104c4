// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names and numbers as people order and count them.

use std::cmp::Ordering;

/// Names in the order that a person counts: `nvme2n1` before `nvme10n1`. Only the same name is equal.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (left, right) = (chunk(a), chunk(b));
        if left.is_empty() || right.is_empty() {
            return a.len().cmp(&b.len());
        }
        let order = compare(left, right);
        if order != Ordering::Equal {
            return order;
        }
        a = a.get(left.len()..).unwrap_or_default();
        b = b.get(right.len()..).unwrap_or_default();
    }
}

/// The leading digits, or the leading text up to the next digit.
fn chunk(text: &str) -> &str {
    let digits = text.starts_with(|letter: char| letter.is_ascii_digit());
    let end = text.find(|letter: char| letter.is_ascii_digit() != digits).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Digits by value (zeros in front do not count, then the shorter first), text by letters.
fn compare(a: &str, b: &str) -> Ordering {
    let is_number = |text: &str| text.starts_with(|letter: char| letter.is_ascii_digit());
    if !is_number(a) || !is_number(b) {
        return a.cmp(b);
    }
    let (short_a, short_b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    short_a.len().cmp(&short_b.len()).then(short_a.cmp(short_b)).then(a.len().cmp(&b.len()))
}

/// `1 drive`, `24 drives`.
pub fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_sort_as_people_count() {
        let mut list =
            ["nvme10n1", "eth10", "nvme2n1", "eth0", "nvme2", "cpu 11", "cpu 9", "eth00"];
        list.sort_by(|a, b| natural(a, b));
        assert_eq!(
            list,
            ["cpu 9", "cpu 11", "eth0", "eth00", "eth10", "nvme2", "nvme2n1", "nvme10n1"]
        );
        assert_eq!((count(1, "drive"), count(0, "drive")), ("1 drive".into(), "0 drives".into()));
    }

    proptest! {
        #[test]
        fn any_names_have_one_order(names in proptest::collection::vec("[a0-2]{0,6}", 3)) {
            let [a, b, c] = [&names[0], &names[1], &names[2]];
            prop_assert_eq!(natural(a, b), natural(b, a).reverse());
            prop_assert_eq!(natural(a, b) == Ordering::Equal, a == b);
            if natural(a, b) != Ordering::Greater && natural(b, c) != Ordering::Greater {
                prop_assert_ne!(natural(a, c), Ordering::Greater);
            }
        }
    }
}
