// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interfaces that the machine, or the person at it, cannot do without.
//!
//! What drops such a link for a moment may lock the person out, cost a cluster its quorum, or take
//! the root file system away. The answer names interfaces only: addresses and connections stay here.

mod routes;
mod sockets;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;

use machine::Carries;

use self::routes::Route;
use self::sockets::{ESTABLISHED, Socket};

/// Ports by which people log in: ssh.
const LOGIN: [u16; 1] = [22];

/// Ports of storage over TCP: iSCSI (RFC 7143), NVMe over TCP (NVMe specification, 4420 and 8009),
/// NFS (RFC 7530).
const STORAGE: [u16; 4] = [3260, 4420, 8009, 2049];

/// Ports by which nodes of a cluster hear each other: corosync (corosync.conf(5)), heartbeat.
const HEARTBEAT: [std::ops::RangeInclusive<u16>; 2] = [5404..=5412, 694..=694];

/// Ancestors that are looked at; a shell in a shell in a multiplexer has about ten.
const ANCESTORS: usize = 32;

/// Which interface carries what.
pub(super) fn carriers() -> BTreeMap<String, BTreeSet<Carries>> {
    let table = |name: &str| fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default();
    let mut routes = routes::parse_v4(&table("route"));
    routes.extend(routes::parse_v6(&table("ipv6_route")));
    let both =
        |name: &str| [sockets::parse(&table(name)), sockets::parse(&table(&format!("{name}6")))];
    let tcp = both("tcp").concat();
    let mut login = LOGIN.to_vec();
    login.extend(session_port(&std::env::var("SSH_CONNECTION").unwrap_or_default()));
    login.extend(ports_of(&tcp, &ancestors_sockets()));
    let seen = Seen { routes, tcp, udp: both("udp").concat(), login, fabrics: fabrics() };
    seen.carriers(root_is_on_network(
        &fs::read_to_string("/proc/self/mountinfo").unwrap_or_default(),
    ))
}

/// What the kernel says of the network.
struct Seen {
    routes: Vec<Route>,
    tcp: Vec<Socket>,
    udp: Vec<Socket>,
    login: Vec<u16>,
    /// Targets of NVMe over Fabrics.
    fabrics: Vec<IpAddr>,
}

impl Seen {
    fn carriers(&self, root_is_on_network: bool) -> BTreeMap<String, BTreeSet<Carries>> {
        let mut found: BTreeMap<String, BTreeSet<Carries>> = BTreeMap::new();
        let mut carry = |interface: &str, what| {
            found.entry(interface.to_owned()).or_default().insert(what);
        };
        routes::defaults(&self.routes)
            .for_each(|interface| carry(interface, Carries::DefaultRoute));
        let towards = |address| routes::towards(&self.routes, address);
        let open = self.tcp.iter().filter(|socket| socket.state == ESTABLISHED);
        for socket in open {
            let Some(interface) = towards(socket.remote.0) else { continue };
            if self.login.contains(&socket.local.1) {
                carry(interface, Carries::Login);
            }
            if STORAGE.contains(&socket.remote.1) {
                carry(interface, Carries::Storage);
                if root_is_on_network {
                    carry(interface, Carries::RootFileSystem);
                }
            }
        }
        for interface in self.fabrics.iter().filter_map(|address| towards(*address)) {
            carry(interface, Carries::Storage);
        }
        let beats =
            |socket: &&Socket| HEARTBEAT.iter().any(|ports| ports.contains(&socket.local.1));
        // A socket of one address is bound to the interface whose network holds it.
        for interface in self.udp.iter().filter(beats).filter_map(|socket| towards(socket.local.0))
        {
            carry(interface, Carries::Heartbeat);
        }
        // Loopback carries nothing away.
        found.remove("lo");
        found
    }
}

/// The server's port in ssh's own words: `client port server port`.
fn session_port(connection: &str) -> Option<u16> {
    connection.split_whitespace().nth(3)?.parse().ok()
}

/// Local ports of the connections that have one of these inodes.
fn ports_of(tcp: &[Socket], inodes: &BTreeSet<u64>) -> Vec<u16> {
    let open = tcp.iter().filter(|socket| socket.state == ESTABLISHED);
    open.filter(|socket| inodes.contains(&socket.inode)).map(|socket| socket.local.1).collect()
}

/// Sockets that this process's ancestors hold: the ssh daemon of this session is one of them,
/// whatever port it listens on, and `sudo` in between hides its variables.
fn ancestors_sockets() -> BTreeSet<u64> {
    let mut inodes = BTreeSet::new();
    let mut process = rustix::process::getppid().map(|id| id.as_raw_nonzero().get());
    for _ in 0..ANCESTORS {
        let Some(id) = process.filter(|id| *id > 1) else { break };
        for entry in fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten() {
            let link = fs::read_link(entry.path()).unwrap_or_default();
            let inode =
                link.to_str().and_then(|link| link.strip_prefix("socket:[")?.strip_suffix(']'));
            inodes.extend(inode.and_then(|inode| inode.parse::<u64>().ok()));
        }
        process = parent(&fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default());
    }
    inodes
}

/// The parent in `/proc/PID/stat`: `1234 (a name) S 1 …`. The name may hold anything.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Whether `/` is on a file system of the network, by `/proc/self/mountinfo` (proc_pid_mountinfo(5)):
/// `22 1 0:20 / / rw,relatime - nfs4 10.0.0.1:/export rw,vers=4.2`.
fn root_is_on_network(mountinfo: &str) -> bool {
    mountinfo.lines().any(|line| {
        let Some((mount, file_system)) = line.split_once(" - ") else { return false };
        let is_root = mount.split_whitespace().nth(4) == Some("/");
        let kind = file_system.split_whitespace().next().unwrap_or_default();
        is_root && (kind.starts_with("nfs") || matches!(kind, "ceph" | "9p" | "cifs" | "smb3"))
    })
}

/// Targets of NVMe over Fabrics: `traddr=10.0.0.1,trsvcid=4420,src_addr=…` in a controller's
/// `address`.
fn fabrics() -> Vec<IpAddr> {
    let controllers = fs::read_dir("/sys/class/nvme").into_iter().flatten().flatten();
    let address = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("address")).ok();
    controllers.filter_map(|entry| target(&address(entry)?)).collect()
}

fn target(address: &str) -> Option<IpAddr> {
    address.trim().split(',').find_map(|part| part.strip_prefix("traddr="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        let routes = routes::parse_v4(
            "h\neth0 00000000 0100000A 0003 0 0 100 00000000 0 0 0\n\
             eth1 0001000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n\
             eth2 0002000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n",
        );
        let socket = |local: (&str, u16), remote: (&str, u16), inode| Socket {
            local: (local.0.parse().unwrap(), local.1),
            remote: (remote.0.parse().unwrap(), remote.1),
            state: ESTABLISHED,
            inode,
        };
        let tcp = vec![
            socket(("10.0.1.5", 2222), ("10.0.1.9", 50000), 7),
            socket(("10.0.2.5", 40000), ("10.0.2.9", 3260), 8),
            socket(("10.0.1.5", 8080), ("10.0.2.77", 50001), 9),
        ];
        let udp = vec![socket(("10.0.1.5", 5405), ("0.0.0.0", 0), 10)];
        Seen { routes, tcp, udp, login: vec![22], fabrics: vec!["10.0.1.20".parse().unwrap()] }
    }

    #[test]
    fn each_kind_of_traffic_finds_its_interface() {
        let mut seen = seen();
        let inodes = [7].into();
        seen.login.extend(ports_of(&seen.tcp, &inodes));
        let found = seen.carriers(false);
        assert_eq!(found["eth0"], [Carries::DefaultRoute].into());
        assert_eq!(found["eth1"], [Carries::Login, Carries::Storage, Carries::Heartbeat].into());
        assert_eq!(found["eth2"], [Carries::Storage].into(), "port 8080 is nobody's login");
    }

    #[test]
    fn a_root_on_the_network_is_told() {
        assert!(seen().carriers(true)["eth2"].contains(&Carries::RootFileSystem));
        assert!(root_is_on_network("22 1 0:20 / / rw - nfs4 10.0.0.1:/export rw\n"));
        assert!(!root_is_on_network(
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:4 / /mnt rw - nfs4 a rw"
        ));
    }

    #[test]
    fn words_of_ssh_of_processes_and_of_controllers() {
        assert_eq!(session_port("10.0.0.2 51515 10.0.0.1 2222"), Some(2222));
        assert_eq!(session_port(""), None);
        assert_eq!(parent("12 (a) b) (c) S 7 12 12 0"), Some(7));
        assert_eq!(parent("12 (a"), None);
        assert_eq!(target("traddr=fd00::1,trsvcid=4420\n"), "fd00::1".parse().ok());
        assert_eq!(target("0000:3e:00.0"), None);
    }

    #[test]
    fn the_live_machine_answers() {
        assert!(!carriers().contains_key("lo"));
    }
}
