// SPDX-License-Identifier: MIT OR Apache-2.0
//! fio's sizes, times and lists.

/// A whole number with fio's suffixes: `4096`, `4k`, `1m`, `2g`, `1t`, `1p`; each 1024 of the one
/// before, as fio counts unless `kb_base` says otherwise.
///
/// # Errors
/// Anything else, in a sentence. With `kib` fio means 1,000 (HOWTO, "Units"), which nobody expects.
pub fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = text.strip_prefix(digits).unwrap_or_default().to_ascii_lowercase();
    if digits.ends_with('%') || suffix.is_empty() && text.ends_with('%') {
        return Err(format!("{text}: a share of what is there is not known here; give a size"));
    }
    let number: u64 = digits.parse().map_err(|_| format!("{text:?} is no size"))?;
    let unit = suffix.strip_suffix('b').unwrap_or(&suffix);
    let shift = match unit {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        "p" => 50,
        "ki" | "mi" | "gi" | "ti" | "pi" => {
            return Err(format!("{text}: fio reads 1kib as 1,000 and 1k as 1,024; write it as k"));
        }
        _ => return Err(format!("{text:?} is no size")),
    };
    number.checked_mul(1 << shift).ok_or_else(|| format!("{text} is too large"))
}

/// A time in seconds: `10`, `10s`, `500ms`, `2m`, `1h`, `1d`.
///
/// # Errors
/// Anything else, in a sentence.
pub(in crate::fio) fn seconds(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = text.strip_prefix(digits).unwrap_or_default().to_ascii_lowercase();
    let number: u32 = digits.parse().map_err(|_| format!("{text:?} is no time"))?;
    let unit = match suffix.as_str() {
        "" | "s" => 1.0,
        "us" => 1e-6,
        "ms" => 1e-3,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(format!("{text:?} is no time")),
    };
    Ok(f64::from(number) * unit)
}

/// `0` or `1`; a name alone is 1.
///
/// # Errors
/// Anything else, in a sentence.
pub(super) fn switch(value: Option<&str>) -> Result<bool, String> {
    match value {
        None | Some("1" | "") => Ok(true),
        Some("0") => Ok(false),
        Some(other) => Err(format!("{other:?} is neither 0 nor 1")),
    }
}

/// A number that may have a fraction.
///
/// # Errors
/// Anything else, in a sentence.
pub(super) fn fraction(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("{text:?} is no number"))
}

/// File names parted by colons, of which `\:` is none.
pub(super) fn names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        match (c, escaped) {
            ('\\', false) => escaped = true,
            (':', false) => names.push(String::new()),
            (c, was_escaped) => {
                if was_escaped && c != ':' {
                    names.last_mut().into_iter().for_each(|name| name.push('\\'));
                }
                names.last_mut().into_iter().for_each(|name| name.push(c));
                escaped = false;
            }
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fio 3.33 made of each, read from the line that it prints of a job.
    #[test]
    fn sizes_are_fios() {
        for (text, wanted) in [
            ("4096", 4096),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4Kb", 4096),
            ("1m", 1 << 20),
            (" 16g ", 16 << 30),
            ("1t", 1 << 40),
        ] {
            assert_eq!(size(text), Ok(wanted), "{text}");
        }
        for text in ["", "k", "4x", "4 k", "-1", "1.5g", "50%", "4kib", "4Ki", "4e3", "99999999p"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_seconds_unless_they_say_so() {
        for (text, wanted) in
            [("10", 10.0), ("10s", 10.0), ("1m", 60.0), ("2h", 7200.0), ("500ms", 0.5)]
        {
            assert!((seconds(text).unwrap() - wanted).abs() < 1e-9, "{text}");
        }
        for text in ["", "s", "10x", "-1", "1:30", "1.5"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_parted_by_colons() {
        assert_eq!(names("/dev/a:/dev/b"), ["/dev/a", "/dev/b"]);
        assert_eq!(
            names("/dev/disk/by-path/pci-0000\\:01:/x"),
            ["/dev/disk/by-path/pci-0000:01", "/x"]
        );
        assert_eq!(names("::"), [""; 0]);
        assert_eq!(names("a\\b"), ["a\\b"]);
    }
}
