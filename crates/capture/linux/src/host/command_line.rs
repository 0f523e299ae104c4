// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/proc/cmdline`, split as the kernel splits it.

use machine::CommandLine;

/// Splits a command line as lib/cmdline.c (`next_arg`) does: white space ends an argument but
/// between quotes, the first `=` ends its key, quotes around the whole or around the value fall
/// away, and `--` ends what is the kernel's.
///
/// `BOOT_IMAGE=/vmlinuz root=/dev/vda1 dyndbg="file a.c +p" "quiet" -- single`
pub(crate) fn parse(text: &str) -> CommandLine {
    let mut options = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (argument, after) = split(rest);
        if argument == "--" {
            break;
        }
        options.push(option(argument));
        rest = after.trim_start();
    }
    CommandLine { text: text.to_owned(), options }
}

/// The first argument and what follows it.
fn split(text: &str) -> (&str, &str) {
    let mut quoted = false;
    let end = text.find(|c: char| {
        quoted ^= c == '"';
        c.is_ascii_whitespace() && !quoted
    });
    text.split_at(end.unwrap_or(text.len()))
}

fn option(argument: &str) -> (String, Option<String>) {
    let whole = match argument.strip_prefix('"') {
        Some(inner) => inner.strip_suffix('"').unwrap_or(inner),
        None => argument,
    };
    match whole.split_once('=') {
        Some((key, value)) => (key.to_owned(), Some(unquoted(value).to_owned())),
        None => (whole.to_owned(), None),
    }
}

fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').map_or(value, |inner| inner.strip_suffix('"').unwrap_or(inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn options(text: &str) -> Vec<(String, Option<String>)> {
        parse(text).options
    }

    #[test]
    fn quotes_duplicates_and_the_end() {
        let row = |key: &str, value: Option<&str>| (key.to_owned(), value.map(str::to_owned));
        assert_eq!(
            options("console=tty0 console=ttyS0,115200 quiet\n"),
            [
                row("console", Some("tty0")),
                row("console", Some("ttyS0,115200")),
                row("quiet", None)
            ]
        );
        assert_eq!(options(r#"a="b c" d"#), [row("a", Some("b c")), row("d", None)]);
        assert_eq!(options(r#""a=b c" d="#), [row("a", Some("b c")), row("d", Some(""))]);
        assert_eq!(options("a=b=c -- init"), [row("a", Some("b=c"))]);
        assert_eq!(options(r#"open="no end"#), [row("open", Some("no end"))]);
        assert_eq!(options(""), []);
    }

    #[test]
    fn the_last_value_holds_whatever_the_dash() {
        let line = parse("intel-iommu=off intel_iommu=on isolcpus=managed_irq,2-3 nohz");
        assert_eq!(line.last("intel_iommu"), Some(Some("on")));
        assert_eq!(line.all("intel_iommu").count(), 2);
        assert_eq!((line.last("nohz"), line.last("noh")), (Some(None), None));
    }

    proptest! {
        #[test]
        fn any_text_is_split(text in "[a-z=\" \n\t-]{0,60}|\\PC{0,40}") {
            let _ = parse(&text);
        }
    }
}
