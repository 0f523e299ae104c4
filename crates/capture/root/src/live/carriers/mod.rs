// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interfaces that the machine, or the person at it, cannot do without.
//!
//! What drops such a link for a moment may lock the person out, cost a cluster its quorum, or take
//! the root file system away. The answer names interfaces only: addresses and connections stay here.

mod routes;
mod sockets;
mod ways;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use machine::Carries;

use self::routes::Route;
use self::sockets::{ESTABLISHED, LISTEN, Socket};

/// Ports by which people log in: ssh.
const LOGIN: [u16; 1] = [22];

/// Processes that let people in over the network: OpenSSH's, whose sessions have a program of their
/// own since 9.8, and Dropbear.
const DAEMONS: [&str; 4] = ["sshd", "sshd-session", "sshd-auth", "dropbear"];

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
    login.extend(served_by(&tcp, &daemons_sockets()));
    let udp = both("udp").concat();
    let mut seen = Seen {
        routes,
        tcp,
        udp,
        login,
        fabrics: fabrics(),
        owners: ways::owners(),
        ..Seen::default()
    };
    seen.ask_ways();
    seen.carriers(root_is_on_network(
        &fs::read_to_string("/proc/self/mountinfo").unwrap_or_default(),
    ))
}

/// What the kernel says of the network.
#[derive(Debug, Default)]
struct Seen {
    /// The main tables: what rules may lead around.
    routes: Vec<Route>,
    tcp: Vec<Socket>,
    udp: Vec<Socket>,
    login: Vec<u16>,
    /// Targets of NVMe over Fabrics.
    fabrics: Vec<Target>,
    /// Whose the addresses of this machine are.
    owners: Vec<(IpAddr, String)>,
    /// The kernel's own word on the way from an address to another, where it gave it.
    ways: BTreeMap<Pair, String>,
}

/// Source, where there is one, and destination.
type Pair = (Option<IpAddr>, IpAddr);

impl Seen {
    /// Asks the kernel for the ways that count.
    fn ask_ways(&mut self) {
        let targets = self.fabrics.iter().map(Target::pair);
        let pairs: BTreeSet<Pair> = self.open().map(Socket::pair).chain(targets).collect();
        let way = |pair: Pair| Some((pair, ways::towards(pair.0, pair.1)?));
        self.ways = pairs.into_iter().filter_map(way).collect();
    }

    /// Connections that are open and carry a login or storage.
    fn open(&self) -> impl Iterator<Item = &Socket> {
        let open = self.tcp.iter().filter(|socket| socket.state == ESTABLISHED);
        open.filter(|socket| self.is_login(socket) || is_storage(socket))
    }

    fn is_login(&self, socket: &Socket) -> bool {
        self.login.contains(&socket.local.1)
    }

    /// The interfaces that a connection needs: that whose address is at its near end, where its
    /// packets come in, and that by which they go out. They may be two.
    fn between(&self, (from, to): Pair) -> BTreeSet<&str> {
        let way = self.ways.get(&(from, to)).map(String::as_str);
        if way == Some("lo") {
            return BTreeSet::new();
        }
        let mut found: BTreeSet<&str> =
            from.into_iter().flat_map(|from| self.owned(from)).collect();
        // An address of a link is found behind any link; only the owner tells which it is.
        if found.is_empty() || !is_of_link(to) {
            found.extend(way.or_else(|| routes::towards(&self.routes, to)));
        }
        found
    }

    fn owned(&self, address: IpAddr) -> impl Iterator<Item = &str> {
        let own = self.owners.iter().filter(move |(own, _)| *own == address);
        own.map(|(_, interface)| interface.as_str())
    }

    fn carriers(&self, root_is_on_network: bool) -> BTreeMap<String, BTreeSet<Carries>> {
        let mut found: BTreeMap<String, BTreeSet<Carries>> = BTreeMap::new();
        let mut carry = |interface: &str, what| {
            found.entry(interface.to_owned()).or_default().insert(what);
        };
        routes::defaults(&self.routes)
            .for_each(|interface| carry(interface, Carries::DefaultRoute));
        for socket in self.open() {
            for interface in self.between(socket.pair()) {
                if self.is_login(socket) {
                    carry(interface, Carries::Login);
                }
                if is_storage(socket) {
                    carry(interface, Carries::Storage);
                    if root_is_on_network {
                        carry(interface, Carries::RootFileSystem);
                    }
                }
            }
        }
        for target in &self.fabrics {
            let named = target.interface.as_deref().into_iter();
            named.chain(self.between(target.pair())).for_each(|nic| carry(nic, Carries::Storage));
        }
        let beats =
            |socket: &&Socket| HEARTBEAT.iter().any(|ports| ports.contains(&socket.local.1));
        for socket in self.udp.iter().filter(beats) {
            let mut own = self.owned(socket.local.0).peekable();
            // A socket of one address is bound to the interface whose network holds it.
            let near = own.peek().is_none().then(|| routes::towards(&self.routes, socket.local.0));
            own.chain(near.flatten()).for_each(|nic| carry(nic, Carries::Heartbeat));
        }
        // Loopback carries nothing away.
        found.remove("lo");
        found
    }
}

fn is_storage(socket: &Socket) -> bool {
    STORAGE.contains(&socket.remote.1)
}

/// Whether an address means something on its own link only (RFC 4291, RFC 3927).
fn is_of_link(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
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

/// Local ports by which daemons of logins, whose sockets have these inodes, are reached: those that
/// they listen on, and of their connections those to a port that somebody listens on, since systemd
/// may listen for them. A connection that they made themselves, as for a forwarded port, is no login.
fn served_by(tcp: &[Socket], inodes: &BTreeSet<u64>) -> BTreeSet<u16> {
    let listened: BTreeSet<u16> =
        tcp.iter().filter(|socket| socket.state == LISTEN).map(|socket| socket.local.1).collect();
    let own = tcp.iter().filter(|socket| inodes.contains(&socket.inode));
    let open = own.filter(|socket| matches!(socket.state, LISTEN | ESTABLISHED));
    open.map(|socket| socket.local.1).filter(|port| listened.contains(port)).collect()
}

/// Sockets of all processes that let people in: a login whose port is another one, whose shell is in
/// a multiplexer, and whose variables `sudo` took away, is known by nothing else.
fn daemons_sockets() -> BTreeSet<u64> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_daemon = |folder: &fs::DirEntry| {
        let is_process = folder.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let name = || fs::read_to_string(folder.path().join("comm")).unwrap_or_default();
        is_process && DAEMONS.contains(&name().trim())
    };
    processes.filter(is_daemon).flat_map(|folder| sockets_of(&folder.path())).collect()
}

/// Inodes of the sockets that a process holds, by its folder in /proc.
fn sockets_of(process: &Path) -> BTreeSet<u64> {
    let mut inodes = BTreeSet::new();
    for entry in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
        let link = fs::read_link(entry.path()).unwrap_or_default();
        let inode = link.to_str().and_then(|link| link.strip_prefix("socket:[")?.strip_suffix(']'));
        inodes.extend(inode.and_then(|inode| inode.parse::<u64>().ok()));
    }
    inodes
}

/// Sockets that this process's ancestors hold: the ssh daemon of this session is one of them,
/// whatever port it listens on, and `sudo` in between hides its variables.
fn ancestors_sockets() -> BTreeSet<u64> {
    let mut inodes = BTreeSet::new();
    let mut process = rustix::process::getppid().map(|id| id.as_raw_nonzero().get());
    for _ in 0..ANCESTORS {
        let Some(id) = process.filter(|id| *id > 1) else { break };
        inodes.extend(sockets_of(Path::new(&format!("/proc/{id}"))));
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

/// Where a controller of NVMe over Fabrics is, and what its host end is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    to: IpAddr,
    from: Option<IpAddr>,
    interface: Option<String>,
}

impl Target {
    fn pair(&self) -> Pair {
        (self.from, self.to)
    }
}

/// Targets of NVMe over Fabrics, by their controllers' `address`.
fn fabrics() -> Vec<Target> {
    let controllers = fs::read_dir("/sys/class/nvme").into_iter().flatten().flatten();
    let address = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("address")).ok();
    controllers.filter_map(|entry| target(&address(entry)?)).collect()
}

/// `traddr=10.0.0.1,trsvcid=4420,src_addr=10.0.0.9,host_iface=eth1` (nvmf_get_address,
/// drivers/nvme/host/fabrics.c); an address of a link has its interface behind `%`.
fn target(address: &str) -> Option<Target> {
    let part = |key: &str| {
        let values = address.trim().split(',').filter_map(|part| part.split_once('='));
        values.filter(|(own, _)| *own == key).map(|(_, value)| value).next()
    };
    let (to, link) = match part("traddr")?.split_once('%') {
        Some((to, link)) => (to, Some(link)),
        None => (part("traddr")?, None),
    };
    Some(Target {
        to: to.parse().ok()?,
        from: part("src_addr").and_then(|from| from.parse().ok()),
        interface: part("host_iface").or(link).map(str::to_owned),
    })
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
        let fabrics = target("traddr=10.0.1.20").into_iter().collect();
        Seen { routes, tcp, udp, login: vec![22], fabrics, ..Seen::default() }
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

    /// sshd on port 2022, whose parent process listens (inode 1), with a connection (2) and one that it
    /// made for a forwarded port (3); and one for which systemd listens (inode 4, held by nobody known).
    #[test]
    fn a_login_by_another_port_is_known_by_its_daemon() {
        let mut seen = seen();
        let mut add = |port, state, inode| {
            let local = ("10.0.2.5".parse().unwrap(), port);
            let remote = ("10.0.2.9".parse().unwrap(), 50000);
            seen.tcp.push(Socket { local, remote, state, inode });
        };
        add(2022, LISTEN, 1);
        add(2022, ESTABLISHED, 2);
        add(41000, ESTABLISHED, 3);
        assert_eq!(served_by(&seen.tcp, &[1].into()), [2022].into());
        assert_eq!(served_by(&seen.tcp, &[2, 3].into()), [2022].into(), "systemd listens");
        assert_eq!(served_by(&seen.tcp, &[3].into()), [].into());
        seen.login.extend(served_by(&seen.tcp, &[1, 2, 3].into()));
        assert_eq!(seen.carriers(false)["eth2"], [Carries::Login, Carries::Storage].into());
    }

    #[test]
    fn rules_and_owners_count_more_than_the_main_table() {
        let mut seen = seen();
        seen.tcp.clear();
        let address = |text: &str| -> IpAddr { text.parse().unwrap() };
        let mut login = |local: &str, remote: &str| {
            seen.tcp.push(Socket {
                local: (address(local), 22),
                remote: (address(remote), 50000),
                state: ESTABLISHED,
                inode: 1,
            });
        };
        login("10.6.0.1", "203.0.113.9");
        login("fe80::6", "fe80::9");
        login("10.6.0.1", "10.0.2.5");
        seen.owners = [("10.6.0.1", "eth3"), ("fe80::6", "eth4"), ("fe80::6", "eth5")]
            .map(|(own, nic)| (address(own), nic.to_owned()))
            .to_vec();
        let out = (Some(address("10.6.0.1")), address("203.0.113.9"));
        seen.ways.insert(out, "eth6".to_owned());
        seen.ways.insert((Some(address("10.6.0.1")), address("10.0.2.5")), "lo".to_owned());
        let found = seen.carriers(false);
        let login = found.iter().filter(|(_, what)| what.contains(&Carries::Login));
        let login: Vec<&str> = login.map(|(nic, _)| nic.as_str()).collect();
        assert_eq!(login, ["eth3", "eth4", "eth5", "eth6"]);
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
        let to = |text: &str| target(text).map(|target| (target.to, target.interface));
        let named = |to: &str, link: &str| Some((to.parse().unwrap(), Some(link.to_owned())));
        let plain = to("traddr=fd00::1,trsvcid=4420\n");
        assert_eq!(plain, Some(("fd00::1".parse().unwrap(), None)));
        assert_eq!(to("traddr=fe80::1%eth1,trsvcid=4420"), named("fe80::1", "eth1"));
        assert_eq!(to("traddr=10.0.0.1,host_iface=eth2"), named("10.0.0.1", "eth2"));
        assert_eq!(to("0000:3e:00.0"), None);
    }

    #[test]
    fn the_live_machine_answers() {
        assert!(!carriers().contains_key("lo"));
    }
}
