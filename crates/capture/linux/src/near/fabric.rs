// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the address of an NVMe controller over fabrics tells of this machine's end.

use std::collections::BTreeMap;

/// This machine's end of a controller over fabrics, as far as its address tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fabric {
    /// The network interface it is bound to (`host_iface`).
    Interface(String),
    /// The other end's address: a route leads there.
    Address(String),
    /// The world-wide name of the host's Fibre Channel port: `0x10000090fa942779`.
    FibreChannel(String),
    /// Both ends are this kernel.
    Loop,
    /// Not told.
    Unknown,
}

/// The `transport` and `address` files of a controller: `tcp` and
/// `traddr=192.168.20.2,trsvcid=4420,host_iface=eth20,src_addr=192.168.20.1`.
pub(crate) fn parse(transport: &str, address: &str) -> Fabric {
    let fields: BTreeMap<&str, &str> =
        address.split(',').filter_map(|field| field.trim().split_once('=')).collect();
    let field = |name| fields.get(name).copied().filter(|value: &&str| !value.is_empty());
    match transport {
        "tcp" | "rdma" => match (field("host_iface"), field("traddr")) {
            (Some(nic), _) => Fabric::Interface(nic.to_owned()),
            (None, Some(address)) => Fabric::Address(address.to_owned()),
            (None, None) => Fabric::Unknown,
        },
        "fc" => field("host_traddr").and_then(port).map_or(Fabric::Unknown, Fabric::FibreChannel),
        "loop" => Fabric::Loop,
        _ => Fabric::Unknown,
    }
}

/// The port of `nn-0x20000090fa942779:pn-0x10000090fa942779`.
fn port(names: &str) -> Option<String> {
    let port = names.split(':').find_map(|name| name.strip_prefix("pn-"))?;
    Some(port.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_transport_tells_its_own_end() {
        let name = |text: &str| text.to_owned();
        let cases = [
            (
                "tcp",
                "traddr=192.168.20.2,trsvcid=4420,host_iface=eth20,src_addr=192.168.20.1",
                Fabric::Interface(name("eth20")),
            ),
            (
                "rdma",
                "traddr=fd00::2,trsvcid=4420,src_addr=fd00::1",
                Fabric::Address(name("fd00::2")),
            ),
            (
                "fc",
                "traddr=nn-0x1:pn-0x2,host_traddr=nn-0x20000090fa942779:pn-0x10000090fa942779",
                Fabric::FibreChannel(name("0x10000090fa942779")),
            ),
            ("fc", "traddr=nn-0x1:pn-0x2", Fabric::Unknown),
            ("loop", "", Fabric::Loop),
            ("tcp", "traddr=", Fabric::Unknown),
            ("pcie", "0000:17:00.0", Fabric::Unknown),
        ];
        for (transport, address, wanted) in cases {
            assert_eq!(parse(transport, address), wanted, "{transport} {address}");
        }
    }

    proptest! {
        #[test]
        fn any_address_is_read_or_unknown(
            transport in "tcp|rdma|fc|loop|x", address in "([a-z_]{0,12}[=:,-]|\\PC){0,20}",
        ) {
            let _ = parse(&transport, &address);
        }
    }
}
