// SPDX-License-Identifier: MIT OR Apache-2.0
//! NUMA nodes: their CPUs, memory, distances and kind.

mod kind;

use machine::{Cpus, Fact, Node, NodeKind, Why};
use root::{Dir, Root};
use units::{Bytes, CpuSet, NodeId};

use crate::{Troubles, cpu::numbered};

const FOLDER: &str = "/sys/devices/system/node";

/// All online nodes by number; none where the kernel shows none.
pub(crate) fn read(root: &dyn Root, cpus: &Cpus, troubles: &mut Troubles) -> Vec<Node> {
    let dir = Dir::new(root, FOLDER);
    let online = online(&dir, troubles);
    let mut nodes: Vec<_> =
        online.iter().map(|id| node(&dir, NodeId(id.0), &online, troubles)).collect();
    kind::mark(root, &mut nodes);
    place_unplaced(&dir, &mut nodes, cpus);
    nodes
}

/// All online nodes with what a placement needs: CPUs, memory, distances.
pub(crate) fn near(root: &dyn Root, cpus: &Cpus, troubles: &mut Troubles) -> Vec<Node> {
    let dir = Dir::new(root, FOLDER);
    let online = online(&dir, troubles);
    let mut nodes: Vec<_> =
        online.iter().map(|id| plain(&dir, NodeId(id.0), &online, troubles)).collect();
    kind::mark(root, &mut nodes);
    place_unplaced(&dir, &mut nodes, cpus);
    nodes
}

/// The nodes of `online`; without that file, the folders.
fn online(dir: &Dir<'_>, troubles: &mut Troubles) -> CpuSet {
    match dir.parse::<CpuSet>("online") {
        Ok(set) if !set.is_empty() => return set,
        Ok(_) => {}
        Err(why) => troubles.note("online NUMA nodes", &why, &dir.join("online")),
    }
    numbered(&dir.list().unwrap_or_default(), "node")
}

fn node(dir: &Dir<'_>, id: NodeId, online: &CpuSet, troubles: &mut Troubles) -> Node {
    let pools = huge_pages(&dir.sub(&format!("node{id}/hugepages")));
    Node { huge_pages: pools, ..plain(dir, id, online, troubles) }
}

/// A node without its pools of huge pages.
fn plain(dir: &Dir<'_>, id: NodeId, online: &CpuSet, troubles: &mut Troubles) -> Node {
    let own = dir.sub(&format!("node{id}"));
    let meminfo = own.text("meminfo");
    let field = |name| meminfo.clone().and_then(|text| memory(&text, name));
    let distances = own.text("distance").and_then(|text| distances(&text, online));
    let what = format!("distances of NUMA node {id}");
    Node {
        id,
        cpus: node_cpus(&own),
        memory: field("MemTotal"),
        memory_free: field("MemFree"),
        distances: troubles.keep(&what, &own.join("distance"), distances).unwrap_or_default(),
        kind: NodeKind::Ordinary,
        huge_pages: Vec::new(),
    }
}

/// `cpulist`, or `cpumap`, or the links `cpuN` in the folder.
fn node_cpus(own: &Dir<'_>) -> CpuSet {
    let list = own.parse::<CpuSet>("cpulist");
    let set = list.or_else(|_| {
        let map = own.text("cpumap")?;
        CpuSet::from_mask(&map).map_err(|error| Why::Unparsed(error.text))
    });
    set.unwrap_or_else(|_| numbered(&own.list().unwrap_or_default(), "cpu"))
}

/// A machine of one node has all CPUs on it, whatever its partial tree leaves out. Where more
/// nodes are possible, the one that is online need not be the only one that has CPUs.
fn place_unplaced(dir: &Dir<'_>, nodes: &mut [Node], cpus: &Cpus) {
    if let [only] = nodes
        && only.cpus.is_empty()
        && dir.parse::<CpuSet>("possible").map_or(true, |possible| possible.len() <= 1)
    {
        only.cpus = cpus.online.clone();
        only.kind = NodeKind::Ordinary;
    }
}

/// One field of meminfo: `Node 0 MemTotal:       32768524 kB`.
pub(crate) fn memory(text: &str, name: &str) -> Fact<Bytes> {
    let line = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.split_whitespace().last() == Some(name)).then_some(value)
    });
    let value = line.ok_or(Why::Absent)?;
    let mut words = value.split_whitespace();
    let kib: Option<u64> = words.next().and_then(|word| word.parse().ok());
    match (kib.and_then(|kib| kib.checked_mul(1024)), words.next()) {
        (Some(bytes), Some("kB")) => Ok(Bytes(bytes)),
        _ => Err(Why::unparsed(value.trim())),
    }
}

/// A row of distances: `10 21 31 21`, one for each online node in ascending order
/// (drivers/base/node.c, `node_read_distance`).
pub(crate) fn distances(text: &str, online: &CpuSet) -> Fact<Vec<(NodeId, u32)>> {
    let unparsed = || Why::unparsed(text);
    let row: Option<Vec<u32>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    let row = row.ok_or_else(unparsed)?;
    if row.len() != online.len() {
        return Err(unparsed());
    }
    Ok(online.iter().map(|id| NodeId(id.0)).zip(row).collect())
}

/// Pools of huge pages by size: the folders `hugepages-2048kB` with `nr_hugepages`, `free_hugepages`.
fn huge_pages(dir: &Dir<'_>) -> Vec<(u64, u64, u64)> {
    let names = dir.list().unwrap_or_default();
    let mut pools: Vec<_> = names
        .iter()
        .filter_map(|name| {
            let kib = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
            let pool = dir.sub(name);
            Some((kib, pool.parse("nr_hugepages").ok()?, pool.parse("free_hugepages").ok()?))
        })
        .collect();
    pools.sort_unstable();
    pools
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use root::MemoryRoot;

    fn set(text: &str) -> CpuSet {
        CpuSet::from_list(text).unwrap()
    }

    fn nodes(root: &MemoryRoot) -> Vec<Node> {
        read(root, &Cpus::default(), &mut Troubles::default())
    }

    #[test]
    fn sparse_nodes_keep_their_numbers_in_distances() {
        let mut root = MemoryRoot::new();
        root.file("/sys/devices/system/node/online", "0,8,252-253\n");
        for node in [0, 8, 252, 253] {
            let folder = format!("/sys/devices/system/node/node{node}");
            root.file(&format!("{folder}/distance"), "10 40 80 80\n")
                .file(&format!("{folder}/meminfo"), format!("Node {node} MemTotal: 64 kB\n"))
                .file(&format!("{folder}/cpumap"), if node == 8 { "0000000f\n" } else { "0\n" });
        }
        let nodes = nodes(&root);
        let ids: Vec<_> = nodes[0].distances.iter().map(|(id, _)| id.0).collect();
        assert_eq!(ids, [0, 8, 252, 253]);
        assert_eq!(
            (nodes[1].cpus.clone(), nodes[1].memory.clone()),
            (set("0-3"), Ok(Bytes(65536)))
        );
        assert_eq!(nodes[2].kind, NodeKind::MemoryOnly);
    }

    #[test]
    fn a_row_of_another_length_is_refused() {
        assert!(distances("10 20", &set("0-2")).is_err());
        assert!(distances("10 x 20", &set("0-2")).is_err());
        assert_eq!(distances("10", &set("5")), Ok(vec![(NodeId(5), 10)]));
    }

    #[test]
    fn memory_is_in_kib_or_unknown() {
        let text = "Node 1 MemTotal:       32768524 kB\nNode 1 MemFree: x kB\n";
        assert_eq!(memory(text, "MemTotal"), Ok(Bytes(32_768_524 * 1024)));
        assert_eq!(memory(text, "MemFree"), Err(Why::Unparsed("x kB".to_owned())));
        assert_eq!(memory(text, "MemUsed"), Err(Why::Absent));
        assert!(memory("MemTotal: 99999999999999999999 kB", "MemTotal").is_err());
    }

    #[test]
    fn huge_page_pools_by_size() {
        let mut root = MemoryRoot::new();
        let folder = "/sys/devices/system/node/node0/hugepages";
        for (size, total, free) in [("1048576", "2", "1"), ("2048", "512", "512")] {
            root.file(&format!("{folder}/hugepages-{size}kB/nr_hugepages"), total)
                .file(&format!("{folder}/hugepages-{size}kB/free_hugepages"), free);
        }
        assert_eq!(nodes(&root)[0].huge_pages, [(2048, 512, 512), (1_048_576, 2, 1)]);
    }

    #[test]
    fn no_node_folder_is_no_node() {
        assert_eq!(nodes(&MemoryRoot::new()), []);
    }

    #[test]
    fn only_the_one_possible_node_has_all_cpus() {
        for (possible, expected) in [(Some("0"), "4-20"), (None, "4-20"), (Some("0-1"), "")] {
            let mut root = MemoryRoot::new();
            root.file("/sys/devices/system/node/online", "1\n");
            possible.map(|text| root.file("/sys/devices/system/node/possible", text));
            let cpus = Cpus { online: set("4-20"), ..Cpus::default() };
            let nodes = read(&root, &cpus, &mut Troubles::default());
            assert_eq!(nodes[0].cpus.to_string(), expected, "{possible:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_parses_or_is_refused(text in "\\PC{0,60}", row in "([0-9]{1,11}| |\\PC){0,20}") {
            let _ = memory(&text, "MemTotal");
            let _ = distances(&row, &set("0-3"));
        }
    }
}
