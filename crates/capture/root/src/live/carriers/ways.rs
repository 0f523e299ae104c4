// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way that the kernel itself says a packet takes, by all its rules and tables, and whose an
//! address is: route netlink (include/uapi/linux/rtnetlink.h, if_addr.h).

use std::net::IpAddr;

use rustix::net::{AddressFamily, SocketType};

use super::super::netlink::{self, Attributes, put};

const RTM_GETADDR: u16 = 22;
const RTM_GETROUTE: u16 = 26;
/// Length of `struct rtmsg`.
const ROUTE: usize = 12;
const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_OIF: u16 = 4;
/// Length of `struct ifaddrmsg`; the index is its last word.
const ADDRESS: usize = 8;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
/// `AF_INET` and `AF_INET6`.
const V4: u8 = 2;
const V6: u8 = 10;

/// The interface by which the kernel sends from one address to another; none where it does not
/// tell, or has no way. A source that is not given leaves rules about sources out.
pub(super) fn towards(from: Option<IpAddr>, to: IpAddr) -> Option<String> {
    let answer = netlink::ask(None, RTM_GETROUTE, &question(from, to)).ok()?;
    interface(route(&answer)?)
}

fn question(from: Option<IpAddr>, to: IpAddr) -> Vec<u8> {
    let bits = |address: IpAddr| if address.is_ipv4() { 32 } else { 128 };
    let from = from.filter(|from| from.is_ipv4() == to.is_ipv4() && !from.is_unspecified());
    let mut message = vec![0_u8; ROUTE];
    let family = if to.is_ipv4() { V4 } else { V6 };
    for (at, value) in message.iter_mut().zip([family, bits(to), from.map_or(0, bits)]) {
        *at = value;
    }
    put(&mut message, RTA_DST, &octets(to));
    if let Some(from) = from {
        put(&mut message, RTA_SRC, &octets(from));
    }
    message
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// The index of the interface in an answer.
fn route(answer: &[u8]) -> Option<u32> {
    Attributes(answer.get(ROUTE..)?).find(RTA_OIF)?.number()
}

/// The addresses of this machine, each with the interface that has it. One address may be several
/// interfaces': those of VLANs and their parent that begin with fe80 often are.
pub(super) fn owners() -> Vec<(IpAddr, String)> {
    let answers = netlink::dump(None, RTM_GETADDR, &[0; ADDRESS]).unwrap_or_default();
    let owned = |answer: &Vec<u8>| {
        let (address, index) = owned(answer)?;
        Some((address, interface(index)?))
    };
    answers.iter().filter_map(owned).collect()
}

fn owned(answer: &[u8]) -> Option<(IpAddr, u32)> {
    let index = u32::from_ne_bytes(answer.get(4..ADDRESS)?.try_into().ok()?);
    let attributes = Attributes(answer.get(ADDRESS..)?);
    // On a line between two, IFA_ADDRESS is the other end's.
    let own = attributes.find(IFA_LOCAL).or(attributes.find(IFA_ADDRESS))?.payload;
    let address = match own.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(own).ok()?),
        _ => IpAddr::from(<[u8; 16]>::try_from(own).ok()?),
    };
    Some((address, index))
}

/// An interface's name; by the kernel, since /sys may be that of another network namespace.
fn interface(index: u32) -> Option<String> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)
        .or_else(|_| rustix::net::socket(AddressFamily::INET6, SocketType::DGRAM, None));
    rustix::net::netdevice::index_to_name(socket.ok()?, index).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_what_is_none_is_left_out() {
        let mut answer = vec![0; ROUTE];
        put(&mut answer, RTA_DST, &[10, 0, 0, 1]);
        put(&mut answer, RTA_OIF, &7_u32.to_ne_bytes());
        assert_eq!(route(&answer), Some(7));
        let mut answer = vec![2, 24, 0, 0];
        answer.extend(3_u32.to_ne_bytes());
        put(&mut answer, IFA_ADDRESS, &[10, 0, 0, 2]);
        put(&mut answer, IFA_LOCAL, &[10, 0, 0, 1]);
        assert_eq!(owned(&answer), Some((IpAddr::from([10, 0, 0, 1]), 3)));
        for length in 0..answer.len() {
            let _ = (owned(&answer[..length]), route(&answer[..length]));
        }
        assert_eq!((owned(&[]), route(&[])), (None, None));
    }

    #[test]
    fn a_question_names_source_and_destination() {
        let (from, to) = (IpAddr::from([10, 6, 0, 1]), IpAddr::from([10, 9, 0, 2]));
        let both = question(Some(from), to);
        assert_eq!(both.get(..3), Some(&[V4, 32, 32][..]));
        assert_eq!(Attributes(&both[ROUTE..]).find(RTA_SRC).unwrap().payload, [10, 6, 0, 1]);
        let one = question(Some("::1".parse().unwrap()), to);
        assert_eq!(one.get(..3), Some(&[V4, 32, 0][..]));
    }

    #[test]
    fn this_machine_owns_its_loopback() {
        let home = IpAddr::from([127, 0, 0, 1]);
        let owners = owners();
        if owners.iter().any(|(address, _)| *address == home) {
            assert!(owners.contains(&(home, "lo".to_owned())), "{owners:?}");
            assert_eq!(towards(None, home).as_deref(), Some("lo"));
        }
    }
}
