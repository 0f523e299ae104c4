// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priority flow control, by the DCB messages of route netlink (include/uapi/linux/dcbnl.h).

use machine::{Fact, Why};

use super::netlink::{self, Attribute, Attributes};
use super::{interface, why};

/// `RTM_GETDCB`.
const GET_DCB: u16 = 78;
/// `DCB_CMD_IEEE_GET`.
const IEEE_GET: u8 = 21;
/// `DCB_ATTR_IFNAME`, `DCB_ATTR_IEEE`, `DCB_ATTR_IEEE_PFC`.
const NAME: u16 = 1;
const IEEE: u16 = 13;
const PFC: u16 = 2;
/// `struct dcbmsg`: family, command, padding.
const HEADER: usize = 4;

/// Priorities with flow control on. Drivers without DCB answer EOPNOTSUPP.
pub(super) fn pfc(name: &str) -> Fact<Vec<u8>> {
    let mut payload = vec![0, IEEE_GET, 0, 0];
    netlink::put(&mut payload, NAME, &netlink::text(interface(name)?));
    let answer = netlink::ask(None, GET_DCB, &payload).map_err(why)?;
    let attributes = Attributes(answer.get(HEADER..).unwrap_or_default());
    parse(attributes).ok_or(Why::NotSupported)
}

/// `struct ieee_pfc` begins with how many classes can, then a bit for each priority that does.
pub(super) fn parse(attributes: Attributes<'_>) -> Option<Vec<u8>> {
    let pfc = attributes.find(IEEE).map(Attribute::inside)?.find(PFC)?;
    let enabled = pfc.payload.get(1)?;
    Some((0..8).filter(|priority| enabled >> priority & 1 == 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_the_bits_of_the_second_byte() {
        let mut inner = Vec::new();
        netlink::put(&mut inner, PFC, &[8, 0b1000, 0, 0, 0, 0]);
        let mut bytes = Vec::new();
        netlink::put(&mut bytes, NAME, &netlink::text("eth0"));
        netlink::put_nested(&mut bytes, IEEE, &inner);
        assert_eq!(parse(Attributes(&bytes)), Some(vec![3]));
        assert_eq!(parse(Attributes(&bytes[..8])), None);
    }
}
