// SPDX-License-Identifier: MIT OR Apache-2.0
//! Open sockets, from the tables of `/proc/net`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// One end of a socket.
pub(super) type End = (IpAddr, u16);

/// A row of `/proc/net/tcp`, `tcp6`, `udp` or `udp6`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) local: End,
    pub(super) remote: End,
    /// `TCP_ESTABLISHED` is 1 (include/net/tcp_states.h).
    pub(super) state: u8,
    pub(super) inode: u64,
}

impl Socket {
    /// Its addresses, near and far.
    pub(super) fn pair(&self) -> (Option<IpAddr>, IpAddr) {
        (Some(self.local.0), self.remote.0)
    }
}

/// State of a connection that is open.
pub(super) const ESTABLISHED: u8 = 1;
/// State of a socket that waits for connections (`TCP_LISTEN`, include/net/tcp_states.h).
pub(super) const LISTEN: u8 = 10;

/// Rows of such a table; addresses are words in the processor's own order, ports are not
/// (net/ipv4/tcp_ipv4.c).
///
/// ```text
/// sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
///  0: 0F02000A:0016 0202000A:B1E0 01 00000000:00000000 02:000A 00000000     0        0 12345 2 …
/// ```
pub(super) fn parse(text: &str) -> Vec<Socket> {
    text.lines().skip(1).filter_map(row).collect()
}

fn row(line: &str) -> Option<Socket> {
    let mut fields = line.split_whitespace().skip(1);
    let (local, remote) = (end(fields.next()?)?, end(fields.next()?)?);
    let state = u8::from_str_radix(fields.next()?, 16).ok()?;
    let inode = fields.nth(5)?.parse().ok()?;
    Some(Socket { local, remote, state, inode })
}

fn end(text: &str) -> Option<End> {
    let (address, port) = text.split_once(':')?;
    Some((self::address(address)?, u16::from_str_radix(port, 16).ok()?))
}

fn address(text: &str) -> Option<IpAddr> {
    let word =
        |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    match text.len() {
        8 => Some(IpAddr::V4(Ipv4Addr::from(word(0)?))),
        32 => {
            let mut bytes = [0; 16];
            for (part, at) in bytes.chunks_mut(4).zip([0, 8, 16, 24]) {
                part.copy_from_slice(&word(at)?);
            }
            // A version 4 peer of a version 6 socket.
            Some(Ipv6Addr::from(bytes).to_canonical())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_table_are_read() {
        let four = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n   \
                    0: 0F02000A:0016 0202000A:B1E0 01 00000000:00000000 02:000A 00000000     0 \
                    0 12345 2 0000000000000000 20 4 30 10 -1\n";
        let socket = parse(four)[0];
        assert_eq!(socket.local, ("10.0.2.15".parse().unwrap(), 22));
        assert_eq!(socket.remote, ("10.0.2.2".parse().unwrap(), 45536));
        assert_eq!((socket.state, socket.inode), (ESTABLISHED, 12345));
        let six = four.replace("0F02000A", "0000000000000000FFFF00000F02000A");
        assert_eq!(parse(&six)[0].local, socket.local, "a mapped address is one of version 4");
    }

    #[test]
    fn what_is_no_row_is_left_out() {
        for text in
            ["", "h\n", "h\n0: x y z", "h\n0: 0F02000A:0016", "h\n0: é:é é:é 01 0 0 0 0 0 0"]
        {
            assert_eq!(parse(text), []);
        }
    }
}
