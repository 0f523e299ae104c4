// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table that spreads packets over receive queues, as `ethtool -x` prints it.

use machine::{Fact, ReceiveSpread, Why};

use super::{refusal, unparsed};

/// More than any device has: tables have up to 2048 entries.
const MOST: usize = 65_536;

/// ```text
/// RX flow hash indirection table for eth0 with 4 RX ring(s):
///     0:      0     1     2     3     0     1     2     3
///     8:      0     1     2     3     0     1     2     3
/// RSS hash key:
/// ```
pub(super) fn parse(text: &str) -> Fact<ReceiveSpread> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("RX flow hash"));
    let head = lines.next().ok_or_else(|| refusal::parse(text))?;
    let mut table = Vec::new();
    for line in lines {
        let Some((first, queues)) = line.split_once(':') else { break };
        let Ok(first) = first.trim().parse::<usize>() else { break };
        if first != table.len() || first > MOST {
            return Err(unparsed(line));
        }
        for queue in queues.split_whitespace() {
            table.push(queue.parse().map_err(|_| unparsed(line))?);
        }
    }
    if table.is_empty() {
        return Err(Why::NotSupported);
    }
    Ok(ReceiveSpread { queues: rings(head), table })
}

/// `... for eth0 with 4 RX ring(s):`
fn rings(head: &str) -> Option<u32> {
    let (before, _) = head.rsplit_once(" RX ring")?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "RX flow hash indirection table for eth0 with 3 RX ring(s):\n\
                         \x20   0:      0     1     2     0     1     2     0     1\n\
                         \x20   8:      2     0\nRSS hash key:\n6d:5a\n";

    #[test]
    fn entries_go_on_over_lines() {
        let spread = parse(TABLE).unwrap();
        assert_eq!((spread.queues, spread.table.len()), (Some(3), 10));
        assert!(spread.is_default());
    }

    #[test]
    fn what_is_no_table_has_a_reason() {
        assert_eq!(parse("netlink error: Operation not supported\n"), Err(Why::NotSupported));
        let none = "RX flow hash indirection table for eth0 with 1 RX ring(s):\n\
                    Operation not supported\n";
        assert_eq!(parse(none), Err(Why::NotSupported));
        assert!(matches!(parse(&TABLE.replace("8:", "16:")), Err(Why::Unparsed(_))));
        assert!(matches!(parse(&TABLE.replace('2', "x")), Err(Why::Unparsed(_))));
    }
}
