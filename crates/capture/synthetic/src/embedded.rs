// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machines that come with the program.

/// Name and description of each machine, in the order of their names.
const MACHINES: [(&str, &str); 11] = [
    ("cxl-memory", include_str!("../machines/cxl-memory.toml")),
    ("eight-socket", include_str!("../machines/eight-socket.toml")),
    ("epyc-7551", include_str!("../machines/epyc-7551.toml")),
    ("faulty", include_str!("../machines/faulty.toml")),
    ("healthy-two-socket", include_str!("../machines/healthy-two-socket.toml")),
    ("r770-factory", include_str!("../machines/r770-factory.toml")),
    ("r770-snc-linear", include_str!("../machines/r770-snc-linear.toml")),
    ("r7725xd", include_str!("../machines/r7725xd.toml")),
    ("sick-two-socket", include_str!("../machines/sick-two-socket.toml")),
    ("thousand-cpus", include_str!("../machines/thousand-cpus.toml")),
    ("virtual-machine", include_str!("../machines/virtual-machine.toml")),
];

/// Names of the embedded machines, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|(name, _)| *name)
}

/// The description of an embedded machine.
pub fn named(name: &str) -> Option<&'static str> {
    MACHINES.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
}
