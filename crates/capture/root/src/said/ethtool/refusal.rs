// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why `ethtool` printed no answer.

use machine::Why;

use super::unparsed;

/// The error's text as libc words it, and the reason that the live kernel's error number gives.
const REASONS: [(&str, Why); 9] = [
    ("Operation not supported", Why::NotSupported),
    ("Invalid argument", Why::NotSupported),
    ("Function not implemented", Why::NotSupported),
    ("Inappropriate ioctl for device", Why::NotSupported),
    ("No such device", Why::Absent),
    ("No such file or directory", Why::Absent),
    ("No such device or address", Why::Absent),
    ("Operation not permitted", Why::Denied),
    ("Permission denied", Why::Denied),
];

/// The reason in a text that holds no answer. The last sentence counts: a first one can be of an
/// attempt that was followed by another.
///
/// `netlink error: Operation not supported`, or
/// `Cannot get device ring settings: Operation not supported`, or the same over two lines.
pub(super) fn parse(text: &str) -> Why {
    let known = |line: &str| {
        let (before, reason) = line.trim().rsplit_once(": ")?;
        let is_refusal =
            before.is_empty() || before == "netlink error" || before.starts_with("Cannot ");
        let (_, why) = REASONS.iter().find(|(text, _)| *text == reason)?;
        is_refusal.then(|| why.clone())
    };
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    text.lines().rev().find_map(known).unwrap_or_else(|| unparsed(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_the_reason_of_their_error_number() {
        let table = [
            ("netlink error: Operation not supported\n", Why::NotSupported),
            (
                "netlink error: no device matches name (offset 24)\nnetlink error: No such device\n",
                Why::Absent,
            ),
            (
                "Ring parameters for lo:\nCannot get device ring settings: Operation not supported\n",
                Why::NotSupported,
            ),
            (
                "Channel parameters for lo:\nCannot get device channel parameters\n: Operation not supported\n",
                Why::NotSupported,
            ),
            ("Cannot get driver information: No such device\n", Why::Absent),
            ("Cannot get device ring settings: Operation not permitted\n", Why::Denied),
            ("netlink error: Operation not permitted\nCannot get x: No such device", Why::Absent),
            (
                "\nsh: ethtool: Permission denied",
                Why::Unparsed("sh: ethtool: Permission denied".to_owned()),
            ),
            (
                "Cannot get device ring settings: Input/output error",
                Why::Unparsed("Cannot get device ring settings: Input/output error".to_owned()),
            ),
            ("", Why::Unparsed(String::new())),
        ];
        for (text, why) in table {
            assert_eq!(parse(text), why, "{text:?}");
        }
    }
}
