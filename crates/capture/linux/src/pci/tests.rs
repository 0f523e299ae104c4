// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tree as a whole, on small made-up machines.

use machine::{LimitedBy, NodeFrom, Why};
use root::MemoryRoot;
use units::{NodeId, Transfers};

use super::*;

const TOP: &str = "/sys/devices/pci0000:17";

fn add(root: &mut MemoryRoot, path: &str, files: &[(&str, &str)]) {
    let address = path.rsplit('/').next().unwrap();
    let target = format!("../../..{}/{path}", TOP.strip_prefix("/sys").unwrap());
    root.symlink(&format!("{}/{address}", place::DEVICES), &target);
    for (name, text) in files {
        root.file(&format!("{TOP}/{path}/{name}"), *text);
    }
}

fn speeds<'a>(
    now: &'a str,
    best: &'a str,
    width: &'a str,
    best_width: &'a str,
) -> [(&'a str, &'a str); 4] {
    [
        ("current_link_speed", now),
        ("max_link_speed", best),
        ("current_link_width", width),
        ("max_link_width", best_width),
    ]
}

fn read_all(root: &MemoryRoot) -> (Vec<Function>, Vec<machine::Trouble>) {
    let mut troubles = Troubles::default();
    let functions = read(root, &[], &mut troubles);
    (functions, troubles.into_list())
}

#[test]
fn both_ends_of_a_link_are_found_without_root() {
    let mut root = MemoryRoot::new();
    let bridge = ("modalias", "pci:v00008086d00002030sv00000000sd00000000bc06sc04i00");
    let port = speeds("8.0 GT/s PCIe", "8.0 GT/s PCIe", "4", "16");
    add(&mut root, "0000:17:00.0", &[&[bridge, ("numa_node", "0\n")][..], &port].concat());
    let card = speeds("8.0 GT/s PCIe", "16.0 GT/s PCIe", "4", "4");
    let nvme = ("modalias", "pci:v00001344d000051C3sv00001344sd00001300bc01sc08i02");
    add(
        &mut root,
        "0000:17:00.0/0000:18:00.0",
        &[&[nvme, ("numa_node", "-1")][..], &card].concat(),
    );
    let (functions, _) = read_all(&root);
    let [port, card] = &functions[..] else { panic!("{functions:?}") };
    assert_eq!(port.port, Some(PortKind::Root));
    assert_eq!((card.node, card.node_from), (Some(NodeId(0)), NodeFrom::Parent));
    let link = card.link.as_ref().unwrap();
    assert_eq!(link.port, Some(port.address));
    assert_eq!(link.above.as_ref().unwrap().speed, Ok(Transfers(80)));
    assert_eq!(link.limited_by(), Some(LimitedBy::Port));
    assert_eq!(port.link.as_ref().unwrap().above, None);
}

#[test]
fn a_dangling_link_is_a_function_whose_place_is_known() {
    let mut root = MemoryRoot::new();
    add(&mut root, "0000:17:00.0", &[("numa_node", "1\n")]);
    add(&mut root, "0000:17:00.0/0000:18:00.0", &[]);
    let (functions, troubles) = read_all(&root);
    let [_, card] = &functions[..] else { panic!("{functions:?}") };
    assert!(!card.is_readable());
    assert_eq!(card.parent, "17:00.0".parse().ok());
    assert_eq!((card.node, card.node_from), (Some(NodeId(1)), NodeFrom::Parent));
    assert_eq!(card.names, machine::Names::default());
    assert_eq!(troubles[0].why, Why::Failed("the link leads nowhere".to_owned()));
}

#[test]
fn kinds_of_ports_follow_their_depth() {
    let mut root = MemoryRoot::new();
    let bridge = ("modalias", "pci:v00008086d00002030sv00000000sd00000000bc06sc04i00");
    let mut path = String::new();
    for address in ["0000:17:00.0", "0000:18:00.0", "0000:19:00.0"] {
        path = format!("{path}/{address}");
        let link = speeds("16 GT/s", "16 GT/s", "16", "16");
        add(&mut root, path.trim_start_matches('/'), &[&[bridge][..], &link].concat());
    }
    let (functions, _) = read_all(&root);
    let kinds: Vec<_> = functions.iter().map(|function| function.port).collect();
    let wanted = [PortKind::Root, PortKind::Upstream, PortKind::Downstream].map(Some);
    assert_eq!(kinds, wanted);
    let above = |index: usize| functions[index].link.as_ref().unwrap().port;
    assert_eq!((above(0), above(1), above(2)), (None, Some(functions[0].address), None));
}

#[test]
fn virtual_functions_have_no_link_of_their_own() {
    let mut root = MemoryRoot::new();
    add(&mut root, "0000:17:00.0", &speeds("Unknown", "Unknown", "0", "0"));
    root.symlink(&format!("{TOP}/0000:17:00.0/physfn"), "../0000:17:01.0")
        .symlink(&format!("{TOP}/0000:17:00.0/iommu_group"), "../../../../kernel/iommu_groups/42")
        .file(&format!("{TOP}/0000:17:00.0/msi_irqs/130"), "msix\n")
        .file(&format!("{TOP}/0000:17:00.0/msi_irqs/65"), "msix\n");
    let (functions, _) = read_all(&root);
    let [function] = &functions[..] else { panic!("{functions:?}") };
    assert_eq!(function.link, None);
    assert_eq!(function.physical_function, "17:01.0".parse().ok());
    assert_eq!(function.iommu_group, Some(42));
    assert_eq!(function.irqs, [65, 130]);
}
