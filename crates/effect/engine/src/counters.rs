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

/// The counters of a device by its number, `259:0`.
pub(crate) fn read(root: &dyn Root, number: &str) -> Option<Stat> {
    let text = root::text(root, &format!("/sys/dev/block/{number}/stat")).ok()?;
    parse(&text)
}

/// What a device did between two readings, beside what the engine did.
pub(crate) fn compare(
    device: String,
    before: Option<Stat>,
    after: Option<Stat>,
    own: &Stat,
) -> DeviceCounters {
    let [own_read, own_written, own_trimmed] = *own;
    let difference = before.zip(after).map(|(before, after)| difference(&before, &after));
    let [read, written, trimmed] = difference.unwrap_or_default();
    let agreement = match difference {
        // A device that counts nothing at all may be one that does not count (queue/iostats is 0).
        None => Agreement::Unknown,
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
            let compared = compare("sda".into(), Some(stat(0)), after, &stat(100 << 20));
            assert_eq!(compared.agreement, wanted, "{after:?}");
        }
    }
}
