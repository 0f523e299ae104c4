// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logins over the running kernel, in network namespaces: each is told of the interface that it
//! comes in by, whatever the main table says.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use machine::Carries;
use nearside_root::{LiveRoot, Question, Root};
use support::{Failed, Need, failed, trial};

/// The words by which this program is called inside the namespace, and by the other side.
const INSIDE: &str = "inside";
const CONNECT: &str = "connect";

type Carriers = std::collections::BTreeMap<String, std::collections::BTreeSet<Carries>>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [INSIDE, case] => inside(case),
        [CONNECT, to] => connect(to),
        _ => {
            let needs =
                [Need::Root, Need::Tool("ip"), Need::Tool("unshare"), Need::Tool("nsenter")];
            let case = |case: &'static str| trial(case, &needs, move || enter(case));
            support::run(vec![
                case("a_rule_leads_around_the_main_table"),
                case("a_login_of_one_link"),
            ]);
        }
    }
}

/// Runs a case in a network namespace of its own.
fn enter(case: &str) -> Result<(), Failed> {
    let own = std::env::current_exe()?;
    let output = Command::new("unshare").arg("--net").arg(own).args([INSIDE, case]).output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(failed(error)) }
}

/// Ends when it is dropped.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shell(script: &str) {
    let status = Command::new("sh").args(["-euc", script]).status().expect("a shell");
    assert!(status.success(), "{script}");
}

/// Two ports here, `ens1f0` with the default route and `ens1f1` with the login; the other ends of
/// both in the namespace of the process that is given.
fn links(other: u32) {
    for port in ["ens1f0", "ens1f1"] {
        shell(&format!(
            "ip link add {port} type veth peer name p{port}
             ip link set p{port} netns {other}
             ip link set {port} up
             nsenter --target {other} --net ip link set p{port} up"
        ));
    }
    shell(&format!(
        "ip link set lo up
         ip addr add 10.5.0.1/24 dev ens1f0
         ip addr add 10.6.0.1/32 dev ens1f1
         ip route add default via 10.5.0.2 dev ens1f0
         ip route add default dev ens1f1 table 100
         ip rule add from 10.6.0.1 table 100
         ip addr add fe80::a5/64 dev ens1f0 nodad
         ip addr add fe80::a6/64 dev ens1f1 nodad
         nsenter --target {other} --net sh -euc '
             ip addr add 10.9.0.2/32 dev pens1f1
             ip route add 10.6.0.1/32 dev pens1f1 src 10.9.0.2
             ip addr add fe80::b6/64 dev pens1f1 nodad'"
    ));
}

/// The process of the other side's namespace.
fn other_side() -> Other {
    let mut sleeper = Command::new("unshare");
    let sleeper = sleeper.args(["--net", "sh", "-c", "echo there; exec sleep 600"]);
    let mut child = sleeper.stdout(Stdio::piped()).spawn().expect("unshare");
    let mut word = [0; 6];
    let mut out = child.stdout.take().expect("a pipe");
    std::io::Read::read_exact(&mut out, &mut word).expect("a word");
    Other(child)
}

fn inside(case: &str) {
    let other = other_side();
    let process = other.0.id();
    links(process);
    let to = match case {
        "a_login_of_one_link" => {
            let link = Command::new("nsenter")
                .args(["--target", &process.to_string(), "--net"])
                .args(["ip", "-o", "link", "show", "pens1f1"])
                .output()
                .expect("the link is there");
            let text = String::from_utf8(link.stdout).expect("text");
            format!("[fe80::a6%{}]:22", text.split(':').next().unwrap_or_default())
        }
        _ => "10.6.0.1:22".to_owned(),
    };
    let all = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 22);
    let listener = TcpListener::bind(all).expect("port 22 of a namespace is free");
    let client = Command::new("nsenter")
        .args(["--target", &process.to_string(), "--net"])
        .arg(std::env::current_exe().expect("this program"))
        .args([CONNECT, &to])
        .spawn();
    let _client = Other(client.expect("the other side calls"));
    let _open = listener.accept().expect("a login");
    let answer = LiveRoot::open().expect("this machine").ask(&Question::Carriers);
    let carriers: Carriers = serde_json::from_str(&answer.expect("an answer")).expect("carriers");
    assert!(carriers["ens1f1"].contains(&Carries::Login), "{carriers:?}");
    assert_eq!(carriers["ens1f0"], [Carries::DefaultRoute].into(), "{carriers:?}");
}

fn connect(to: &str) {
    let _open = TcpStream::connect(to).expect("it listens");
    std::thread::sleep(std::time::Duration::from_secs(600));
}
