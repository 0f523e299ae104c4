// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses `/proc/interrupts`, a line at a time.
//!
//! The file grows with interrupts times CPUs (58 MB on 1,024 CPUs), and nearly all of it is
//! columns that hold 0. They are skipped eleven bytes at once, and only counts above 0 are kept.

use std::io::{BufRead, Read};

use machine::{Fact, Why};

/// A line of an interrupt that has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// The kernel's number.
    pub(crate) number: u32,
    /// (CPU, count) for counts above 0.
    pub(crate) counts: Counts,
    /// Chip, hwirq and trigger in words: `PCI-MSI 524289-edge`.
    pub(crate) chip: String,
    /// Names of the actions.
    pub(crate) actions: Vec<String>,
}

/// Everything the file said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Interrupts {
    /// Lines in the order of the file; lines of the processor itself (`NMI`, `LOC`, `ERR`) left out.
    pub(crate) lines: Vec<Line>,
    /// The first line that was cut or mangled, if any. Its counts and names are not trusted.
    pub(crate) bad: Option<String>,
}

/// (CPU, count) for counts above 0.
type Counts = Vec<(u32, u64)>;

/// A longer line than 65,536 CPUs could fill is no line of the kernel's.
const MAX_LINE: u64 = 1 << 20;

/// A column that holds 0, as `show_interrupts` prints it (`%10u ` behind a space or a colon).
const ZERO: &[u8; 11] = b"          0";

/// Reads the whole text.
///
/// ```text
///            CPU0       CPU1       CPU4
///  65:          0          7          0   PCI-MSI 524288-edge      nvme0q0
/// NMI:          0          0          0   Non-maskable interrupts
/// ```
pub(crate) fn parse(mut text: impl BufRead) -> Fact<Interrupts> {
    let mut found = Interrupts::default();
    let mut cpus: Vec<u32> = Vec::new();
    let mut line = Vec::new();
    while next_line(&mut text, &mut line)? {
        if let Some(header) = header(&line) {
            cpus = header;
            continue;
        }
        let Some((number, rest)) = label(&line) else { continue };
        match counts(rest, &cpus) {
            Some((counts, tail)) => {
                let (chip, actions) = tail_of(&String::from_utf8_lossy(tail));
                found.lines.push(Line { number, counts, chip, actions });
            }
            None => {
                found.bad.get_or_insert_with(|| cut(&line));
                found.lines.push(Line {
                    number,
                    counts: Vec::new(),
                    chip: String::new(),
                    actions: Vec::new(),
                });
            }
        }
    }
    Ok(found)
}

/// Fills `line` with the next one; what is beyond [`MAX_LINE`] becomes lines without a label.
fn next_line(text: &mut impl BufRead, line: &mut Vec<u8>) -> Fact<bool> {
    line.clear();
    let mut limited = Read::take(&mut *text, MAX_LINE);
    let read = limited.read_until(b'\n', line);
    read.map(|bytes| bytes > 0).map_err(|error| Why::Failed(error.to_string()))
}

fn cut(line: &[u8]) -> String {
    String::from_utf8_lossy(line.get(..80).unwrap_or(line)).trim().to_owned()
}

/// `CPU0 CPU1 CPU4`: columns are online CPUs, whose numbers have gaps.
fn header(line: &[u8]) -> Option<Vec<u32>> {
    if !line.trim_ascii_start().starts_with(b"CPU") {
        return None;
    }
    let text = std::str::from_utf8(line).ok()?;
    text.split_whitespace().map(|word| word.strip_prefix("CPU")?.parse().ok()).collect()
}

/// ` 65:` gives 65 and what follows; names such as `LOC:` give nothing.
fn label(line: &[u8]) -> Option<(u32, &[u8])> {
    let colon = line.iter().take(16).position(|byte| *byte == b':')?;
    let (name, rest) = line.split_at_checked(colon)?;
    let number = std::str::from_utf8(name.trim_ascii()).ok()?;
    let plain = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((plain.then(|| number.parse().ok()).flatten()?, rest.get(1..)?))
}

/// Takes one count for each CPU; `None` when the line has fewer, as a cut one has.
fn counts<'a>(mut rest: &'a [u8], cpus: &[u32]) -> Option<(Counts, &'a [u8])> {
    let mut counts = Vec::new();
    for cpu in cpus {
        if rest.starts_with(ZERO) && rest.get(ZERO.len()).is_none_or(u8::is_ascii_whitespace) {
            rest = rest.get(ZERO.len()..)?;
            continue;
        }
        let (count, after) = count(rest)?;
        if count > 0 {
            counts.push((*cpu, count));
        }
        rest = after;
    }
    // The last number of a line that was cut may have lost digits.
    (!rest.is_empty()).then_some((counts, rest))
}

/// A number and what follows. Counts may fill or overflow their column.
fn count(rest: &[u8]) -> Option<(u64, &[u8])> {
    let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
    let digits = rest.get(blanks..)?;
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, after) = digits.split_at_checked(length)?;
    // What stands against a number without a space between is no count: `2-edge`.
    if number.is_empty() || !after.first().is_none_or(u8::is_ascii_whitespace) {
        return None;
    }
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, after))
}

/// Splits what follows the counts into chip words and action names.
///
/// ```text
/// IR-PCI-MSIX-0000:3e:00.0    1-edge      nvme0q1     x86, hwirq with its trigger
/// IR-PCI-MSI-edge      xhci_hcd                       x86 before 3.19, no hwirq
/// ITS-MSI 65536 Edge      nvme0q0                     ARM and POWER, trigger a word of its own
/// IO-APIC  16-fasteoi   ehci_hcd:usb1, mmc0           shared
/// ```
fn tail_of(tail: &str) -> (String, Vec<String>) {
    // Texts copied from web pages hold soft hyphens where the kernel prints `-`.
    let tail = tail.replace('\u{ad}', "-");
    let mut rest = tail.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    let mut chip = take_word(&mut rest).to_owned();
    while !rest.is_empty() && is_chip_word(rest) {
        chip.push(' ');
        chip.push_str(take_word(&mut rest));
    }
    let actions = rest.split(", ").map(str::trim).filter(|action| !action.is_empty());
    (chip, actions.map(str::to_owned).collect())
}

fn take_word<'a>(rest: &mut &'a str) -> &'a str {
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after.trim_start();
    word
}

/// Whether the next word still belongs to the chip: a hwirq, a trigger, or both.
fn is_chip_word(rest: &str) -> bool {
    let word = rest.split_whitespace().next().unwrap_or_default();
    let after_digits = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_hwirq = after_digits.len() < word.len();
    match word {
        "Level" | "Edge" => true,
        _ if has_hwirq && after_digits.is_empty() => true,
        _ => {
            let trigger = after_digits.strip_prefix('-');
            trigger.is_some_and(|name| {
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase())
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(text: &str) -> Vec<Line> {
        parse(text.as_bytes()).unwrap().lines
    }

    fn tail(text: &str) -> (String, Vec<String>) {
        tail_of(text)
    }

    #[test]
    fn columns_are_the_cpus_of_the_header() {
        let text = "            CPU0       CPU2       CPU9\n\
                    \x20 10: 3287008667 3310445093          4     GICv3  27 Level     arch_timer\n\
                    \x20 65:          0          7          0   PCI-MSI 524288-edge      nvme0q0\n\
                    NMI:          0          0          0   Non-maskable interrupts\n\
                    ERR:          0\n";
        let lines = lines(text);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].counts, [(0, 3_287_008_667), (2, 3_310_445_093), (9, 4)]);
        assert_eq!(lines[1].counts, [(2, 7)]);
        assert_eq!(lines[1].chip, "PCI-MSI 524288-edge");
        assert_eq!(lines[1].actions, ["nvme0q0"]);
    }

    #[test]
    fn tails_of_every_architecture() {
        let cases: &[(&str, &str, &[&str])] = &[
            (
                "  IR-PCI-MSIX-0000:3e:00.0    1-edge      nvme0q1",
                "IR-PCI-MSIX-0000:3e:00.0 1-edge",
                &["nvme0q1"],
            ),
            (" IR-PCI-MSI-edge      xhci_hcd", "IR-PCI-MSI-edge", &["xhci_hcd"]),
            (
                "  PCI-MSI 109051904-edge      PCIe PME, aerdrv",
                "PCI-MSI 109051904-edge",
                &["PCIe PME", "aerdrv"],
            ),
            ("   ITS-MSI 65536 Edge      nvme0q0", "ITS-MSI 65536 Edge", &["nvme0q0"]),
            ("     GICv3  27 Level     arch_timer", "GICv3 27 Level", &["arch_timer"]),
            ("  ARMH0061:00   3 Edge      ACPI:Event", "ARMH0061:00 3 Edge", &["ACPI:Event"]),
            (
                "  IO-APIC   16-fasteoi   ehci_hcd:usb1, mmc0",
                "IO-APIC 16-fasteoi",
                &["ehci_hcd:usb1", "mmc0"],
            ),
            ("  XICS    655360 Edge      eth0 (queue 0)", "XICS 655360 Edge", &["eth0 (queue 0)"]),
            (
                " IR\u{ad}PCI\u{ad}MSI\u{ad}edge   eth0\u{ad}TxRx\u{ad}0",
                "IR-PCI-MSI-edge",
                &["eth0-TxRx-0"],
            ),
            ("   PCI-MSI 524288-edge", "PCI-MSI 524288-edge", &[]),
            ("", "", &[]),
        ];
        for (text, chip, actions) in cases {
            let found = tail(text);
            assert_eq!(found.0, *chip, "{text}");
            assert_eq!(found.1, *actions, "{text}");
        }
    }

    #[test]
    fn a_cut_line_has_no_counts() {
        let text = "     CPU0       CPU1\n  65:          5         12";
        let found = parse(text.as_bytes()).unwrap();
        assert_eq!(found.lines[0].counts, []);
        assert_eq!(found.bad.as_deref(), Some("65:          5         12"));
        let no_header = parse(&b" 65:   5   PCI-MSI 1-edge  nvme0q0\n"[..]).unwrap();
        assert_eq!(no_header.lines[0].counts, []);
    }

    #[test]
    fn a_thousand_cpus_and_wide_counts() {
        let header: String = (0..1024).map(|cpu| format!("{:<11}", format!("CPU{cpu}"))).collect();
        let mut text = format!("           {header}\n");
        for irq in 0..200_u32 {
            let count = |cpu: u32| if cpu == irq * 5 { 12_345_678_901_u64 } else { 0 };
            let columns: String = (0..1024).map(|cpu| format!("{:>10} ", count(cpu))).collect();
            text.push_str(&format!("{irq:>4}: {columns} PCI-MSI {irq}-edge      nvme0q{irq}\n"));
        }
        let lines = lines(&text);
        assert_eq!(lines.len(), 200);
        for (irq, line) in (0..).zip(&lines) {
            assert_eq!(line.number, irq);
            assert_eq!(line.counts, [(irq * 5, 12_345_678_901)]);
            assert_eq!(line.actions, [format!("nvme0q{irq}")]);
        }
    }

    proptest! {
        #[test]
        fn any_text_parses_or_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes[..]);
        }

        #[test]
        fn any_line_below_a_header_parses(text in "[ 0-9:A-Za-z\\-,\n]{0,200}") {
            let _ = parse(format!("   CPU0   CPU7\n{text}").as_bytes());
        }

        #[test]
        fn counts_round_trip(counts in proptest::collection::vec(0_u64..20_000_000_000, 1..40)) {
            let header: String = (0..counts.len()).map(|cpu| format!("CPU{:<8}", cpu * 3)).collect();
            let columns: String = counts.iter().map(|count| format!("{count:>10} ")).collect();
            let text = format!("           {header}\n 77: {columns}  PCI-MSI 5-edge      eth0-TxRx-1\n");
            let expected: Vec<(u32, u64)> =
                (0..).step_by(3).zip(counts).filter(|(_, count)| *count > 0).collect();
            prop_assert_eq!(&lines(&text)[0].counts, &expected);
            prop_assert_eq!(&lines(&text)[0].chip, "PCI-MSI 5-edge");
        }
    }
}
