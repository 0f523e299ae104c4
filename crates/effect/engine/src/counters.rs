// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel counted at a device beside what the engine did there.

use record::{Agreement, Counted, DeviceCounters};
use root::Root;

/// What others may move in between without being noticed, in bytes: a journal, a log.
const SLACK: u64 = 1 << 20;

/// Reads, writes and discards that a device completed.
pub(crate) type Stat = [Counted; 3];

/// `/sys/block/X/stat` (Documentation/block/stat.rst): reads, merged, sectors, ms, then the same of
/// writes, three words about now, and the same of discards since 4.18. Sectors are of 512 bytes.
///
/// `  446216   784926  9550688  4382310   893158  2326412 ...`
pub(crate) fn parse(text: &str) -> Option<Stat> {
    let words: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let counted = |at: usize| {
        let bytes = words.get(at + 2)?.saturating_mul(512);
        Some(Counted { operations: *words.get(at)?, bytes })
    };
    Some([counted(0)?, counted(4)?, counted(11).unwrap_or_default()])
}

/// The counters of a device by its number, `259:0`; none where the kernel was told not to count
/// (`queue/iostats` is 0, of a partition's disk): they stand still whatever the device does.
pub(crate) fn read(root: &dyn Root, number: &str) -> Option<Stat> {
    let text = |file: &str| root::text(root, &format!("/sys/dev/block/{number}/{file}"));
    let counts = text("queue/iostats").or_else(|_| {
        let path = root.resolve(&format!("/sys/dev/block/{number}"))?;
        let (disk, _) = path.rsplit_once('/').unwrap_or_default();
        root::text(root, &format!("{disk}/queue/iostats"))
    });
    if counts.as_deref() == Ok("0") {
        return None;
    }
    parse(&text("stat").ok()?)
}

/// Whether a device may leave out what an engine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// It counts all operations.
    All,
    /// Commands that pass the block layer by are counted since Linux 6.15 at the earliest, and only
    /// where `queue/iostats_passthrough` is 1.
    PerhapsNot,
}

/// What a device did between two readings, beside what the engine did.
pub(crate) fn compare(
    device: String,
    before: Option<Stat>,
    after: Option<Stat>,
    own: &Stat,
    counts: Counts,
) -> DeviceCounters {
    let [own_read, own_written, own_trimmed] = *own;
    let difference = before.zip(after).map(|(before, after)| difference(&before, &after));
    let [read, written, trimmed] = difference.unwrap_or_default();
    let agreement = match difference {
        None => Agreement::Unknown,
        Some(_) if counts == Counts::PerhapsNot && before == after => Agreement::Unknown,
        Some(stat) => agreement(&stat, own),
    };
    DeviceCounters { device, read, written, trimmed, own_read, own_written, own_trimmed, agreement }
}

fn difference(before: &Stat, after: &Stat) -> Stat {
    let mut stat = Stat::default();
    for (place, (before, after)) in stat.iter_mut().zip(before.iter().zip(after)) {
        place.operations = after.operations.saturating_sub(before.operations);
        place.bytes = after.bytes.saturating_sub(before.bytes);
    }
    stat
}

/// Held to the bytes: operations are merged and split on their way. Discards are not compared, for
/// what is not a whole number of the drive's units is left out.
fn agreement(stat: &Stat, own: &Stat) -> Agreement {
    let used = stat.iter().zip(own).take(2).filter(|(_, own)| own.bytes > 0);
    let (mut is_fewer, mut is_more) = (false, false);
    for (stat, own) in used {
        is_fewer |= stat.bytes < own.bytes - own.bytes / 100;
        is_more |= stat.bytes > own.bytes.saturating_add(own.bytes / 100).saturating_add(SLACK);
    }
    match (is_fewer, is_more) {
        (true, _) => Agreement::Fewer,
        (false, true) => Agreement::More,
        (false, false) => Agreement::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "  446216   784926  9550688  4382310   893158  2326412 27098192 1234 0 99 99";
    const NEW: &str =
        "446216 784926 9550688 4382310 893158 2326412 27098192 1234 0 99 99 7 0 56 0 12 34";

    #[test]
    fn both_forms_are_read() {
        let read = Counted { operations: 446_216, bytes: 9_550_688 * 512 };
        let written = Counted { operations: 893_158, bytes: 27_098_192 * 512 };
        assert_eq!(parse(OLD), Some([read, written, Counted::default()]));
        let trimmed = Counted { operations: 7, bytes: 56 * 512 };
        assert_eq!(parse(NEW), Some([read, written, trimmed]));
        for text in ["", "1 2", "1 2 3 4 5 6 x", "-1 2 3 4 5 6 7"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_device_that_was_not_asked_is_told_from_one_that_others_used() {
        let stat =
            |bytes| [Counted { operations: 1, bytes }, Counted::default(), Counted::default()];
        let cases = [
            (Some(stat(100 << 20)), Agreement::Same),
            (Some(stat(100 << 20 | 512 << 10)), Agreement::Same),
            (Some(stat(98 << 20)), Agreement::Fewer),
            (Some(stat(0)), Agreement::Fewer),
            (Some(stat(110 << 20)), Agreement::More),
            (None, Agreement::Unknown),
        ];
        for (after, wanted) in cases {
            let compared =
                compare("sda".into(), Some(stat(0)), after, &stat(100 << 20), Counts::All);
            assert_eq!(compared.agreement, wanted, "{after:?}");
        }
        let still = Some(stat(7));
        let compared = |counts| compare("nvme0n1".into(), still, still, &stat(1 << 20), counts);
        assert_eq!(compared(Counts::PerhapsNot).agreement, Agreement::Unknown);
        assert_eq!(compared(Counts::All).agreement, Agreement::Fewer);
    }

    #[test]
    fn a_device_that_does_not_count_has_no_counters() {
        let mut root = root::MemoryRoot::new();
        root.file("/sys/devices/a/sda/stat", OLD)
            .file("/sys/devices/a/sda/sda1/stat", OLD)
            .symlink("/sys/dev/block/8:0", "../../devices/a/sda")
            .symlink("/sys/dev/block/8:1", "../../devices/a/sda/sda1");
        for (iostats, is_counted) in [("1\n", true), ("0\n", false)] {
            root.file("/sys/devices/a/sda/queue/iostats", iostats);
            assert_eq!(read(&root, "8:0").is_some(), is_counted, "{iostats}");
            assert_eq!(read(&root, "8:1").is_some(), is_counted, "{iostats}");
        }
    }
}
