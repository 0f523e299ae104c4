// SPDX-License-Identifier: MIT OR Apache-2.0
//! RDMA devices, their ports and GIDs.

use machine::{Fact, Function, Nic, RdmaDevice, RdmaPort, Why};
use root::{Dir, Question, Root};
use units::BitRate;

const INFINIBAND: &str = "/sys/class/infiniband";

pub(crate) fn read(root: &dyn Root, functions: &[Function], nics: &[Nic]) -> Vec<RdmaDevice> {
    let names = root.list(INFINIBAND).unwrap_or_default();
    names.iter().map(|name| device(root, name, functions, nics)).collect()
}

fn device(root: &dyn Root, name: &str, functions: &[Function], nics: &[Nic]) -> RdmaDevice {
    let dir = Dir::new(root, format!("{INFINIBAND}/{name}"));
    let numbers = dir.sub("ports").list().unwrap_or_default();
    let mut numbers: Vec<u32> = numbers.iter().filter_map(|number| number.parse().ok()).collect();
    numbers.sort_unstable();
    let ports: Vec<RdmaPort> = numbers.into_iter().map(|n| port(&dir, n, nics)).collect();
    let path = root.link(dir.path()).or_else(|_| root.link(&dir.join("device"))).ok();
    let carrier = ports.iter().find_map(|port| nic(nics, port.netdev.as_deref()?));
    // Soft RoCE and iWARP have no device: they are where the interface below them is.
    let function = path
        .and_then(|path| crate::net::function_in(&path))
        .or_else(|| carrier.and_then(|nic| nic.function));
    let node = functions.iter().find(|f| Some(f.address) == function).and_then(|f| f.node);
    RdmaDevice { name: name.to_owned(), function, node, ports }
}

fn nic<'a>(nics: &'a [Nic], name: &str) -> Option<&'a Nic> {
    nics.iter().find(|nic| nic.name == name)
}

fn port(device: &Dir<'_>, number: u32, nics: &[Nic]) -> RdmaPort {
    let dir = device.sub(&format!("ports/{number}"));
    let netdev = netdev(device, &dir, number);
    let link_layer = dir.text("link_layer").unwrap_or_default();
    let mtu = netdev.as_deref().and_then(|name| nic(nics, name)).map(|nic| nic.mtu.clone());
    let mtu = mtu.unwrap_or(Err(Why::Absent)).and_then(path_mtu);
    let pfc = netdev.as_deref().map_or(Err(Why::Absent), |name| pfc(device.root(), name));
    let is_ethernet = link_layer == "Ethernet";
    RdmaPort {
        number,
        state: dir.text("state").unwrap_or_default(),
        rate: dir.text("rate").and_then(|text| rate(&text)),
        gids: gids(&dir),
        // InfiniBand's MTU is the subnet's and is not that of the IP interface.
        mtu: if is_ethernet { mtu } else { Err(Why::Absent) },
        pfc: if is_ethernet { pfc } else { Err(Why::Absent) },
        link_layer,
        netdev,
    }
}

/// The interface of a port: by its GIDs, by soft RoCE's `parent`, or by the port's number among
/// the interfaces of the same function (`dev_port` counts from 0).
fn netdev(device: &Dir<'_>, port: &Dir<'_>, number: u32) -> Option<String> {
    let told = |name: Fact<String>| name.ok().filter(|name| !name.is_empty());
    let by_gid = told(port.text("gid_attrs/ndevs/0"));
    by_gid.or_else(|| told(device.text("parent"))).or_else(|| {
        let net = device.sub("device/net");
        let names = net.list().unwrap_or_default();
        let is_port = |name: &&String| {
            let dir = net.sub(name);
            let index = dir.parse::<u32>("dev_port").unwrap_or(0);
            let index = index.max(dir.hex("dev_id").unwrap_or(0));
            index.checked_add(1) == Some(number)
        };
        names.iter().find(is_port).cloned()
    })
}

/// `100 Gb/sec (4X EDR)`, `2.5 Gb/sec (1X SDR)`.
pub(crate) fn rate(text: &str) -> Fact<BitRate> {
    let unparsed = || Why::unparsed(text);
    let (number, _) = text.split_once(" Gb/sec").ok_or_else(unparsed)?;
    let (whole, tenth) = number.trim().split_once('.').unwrap_or((number.trim(), "0"));
    let whole: u64 = whole.parse().map_err(|_| unparsed())?;
    let tenth: u64 = match tenth.as_bytes() {
        [digit @ b'0'..=b'9'] => u64::from(digit - b'0'),
        _ => return Err(unparsed()),
    };
    let tenths = whole.checked_mul(10).and_then(|tenths| tenths.checked_add(tenth));
    tenths.and_then(|tenths| tenths.checked_mul(100_000_000)).map(BitRate).ok_or_else(unparsed)
}

/// GIDs that are set, with their type. The type's file of an empty slot answers EINVAL.
fn gids(port: &Dir<'_>) -> Vec<(u32, String, String)> {
    let gids = port.sub("gids");
    let names = gids.list().unwrap_or_default();
    let mut indices: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    indices.sort_unstable();
    let gid = |index: u32| {
        let gid = gids.text(&index.to_string()).ok().filter(|gid| is_set(gid))?;
        let kind = port.text(&format!("gid_attrs/types/{index}")).unwrap_or_default();
        Some((index, gid, kind))
    };
    indices.into_iter().filter_map(gid).collect()
}

/// `fe80:0000:0000:0000:0000:0000:0000:0000` is a port without an address yet.
pub(crate) fn is_set(gid: &str) -> bool {
    let host = gid.strip_prefix("fe80").unwrap_or(gid);
    host.bytes().any(|byte| !matches!(byte, b'0' | b':'))
}

/// Headers that RoCE counts against the interface's MTU: GRH 40, UDP 8, BTH 12, XRC 4, atomic 28,
/// ICRC 4 (`iboe_get_mtu`, include/rdma/ib_addr.h).
const ROCE_HEADERS: u32 = 96;

/// The largest verbs MTU that fits an interface's.
fn path_mtu(mtu: u32) -> Fact<u32> {
    let room = mtu.saturating_sub(ROCE_HEADERS);
    let fits = [4096, 2048, 1024, 512, 256].into_iter().find(|size| *size <= room);
    fits.ok_or(Why::NotSupported)
}

/// Priorities with priority flow control on.
fn pfc(root: &dyn Root, netdev: &str) -> Fact<Vec<u8>> {
    let text = root.ask(&Question::Pfc(netdev.to_owned()))?;
    serde_json::from_str(&text).map_err(|_| Why::unparsed(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use root::MemoryRoot;

    #[test]
    fn rates_as_the_kernel_writes_them() {
        assert_eq!(rate("100 Gb/sec (4X EDR)"), Ok(BitRate(100_000_000_000)));
        assert_eq!(rate("2.5 Gb/sec (1X SDR)"), Ok(BitRate(2_500_000_000)));
        assert_eq!(rate("400 Gb/sec (4X NDR)"), Ok(BitRate(400_000_000_000)));
        for text in ["", "Gb/sec", "-1 Gb/sec", "2.55 Gb/sec", "99999999999999999999 Gb/sec"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_verbs_mtu_leaves_room_for_headers() {
        let cases = [
            (1500, Some(1024)),
            (4200, Some(4096)),
            (9000, Some(4096)),
            (4096, Some(2048)),
            (300, None),
        ];
        for (mtu, verbs) in cases {
            assert_eq!(path_mtu(mtu).ok(), verbs, "{mtu}");
        }
    }

    #[test]
    fn a_port_and_its_gids() {
        let mut root = MemoryRoot::new();
        let device = "/sys/devices/pci0000:85/0000:85:00.0/0000:86:00.0/infiniband/mlx5_0";
        root.symlink("/sys/class/infiniband/mlx5_0", &format!("../..{}", &device[4..]));
        for (file, text) in [
            ("state", "4: ACTIVE\n"),
            ("rate", "100 Gb/sec (4X EDR)\n"),
            ("link_layer", "Ethernet\n"),
            ("gids/0", "fe80:0000:0000:0000:0e42:a1ff:fe00:0001\n"),
            ("gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n"),
            ("gids/10", "0000:0000:0000:0000:0000:ffff:c0a8:0102\n"),
            ("gid_attrs/types/0", "RoCE v2\n"),
            ("gid_attrs/types/10", "IB/RoCE v1\n"),
            ("gid_attrs/ndevs/0", "ens1f0\n"),
        ] {
            root.file(&format!("{device}/ports/1/{file}"), text);
        }
        let found = read(&root, &[], &[]);
        assert_eq!(found[0].function.map(|f| f.to_string()).as_deref(), Some("0000:86:00.0"));
        let port = &found[0].ports[0];
        assert_eq!(port.netdev.as_deref(), Some("ens1f0"));
        assert_eq!((port.number, port.state.as_str()), (1, "4: ACTIVE"));
        let gids: Vec<_> = port.gids.iter().map(|(n, _, kind)| (*n, kind.as_str())).collect();
        assert_eq!(gids, [(0, "RoCE v2"), (10, "IB/RoCE v1")]);
    }

    proptest! {
        #[test]
        fn any_rate_parses_or_is_refused(text in "\\PC{0,30}") {
            let _ = rate(&text);
        }
    }
}
