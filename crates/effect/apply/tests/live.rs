// SPDX-License-Identifier: MIT OR Apache-2.0
//! The running kernel takes orders and gets its old values back: a pair of virtual Ethernet devices
//! that is made for it, judged by `ethtool`.

use std::path::Path;
use std::process::Command;

use journal::{Journal, MemoryMedium, Wait};
use libtest_mimic::{Failed, Trial};
use machine::Why;
use nearside_apply::{
    Ending, Force, Kernel, OnFailure, Options, Selection, Standing, apply, revert, verify,
};
use root::LiveRoot;
use setting::{Device, DeviceKind, Ethtool, Form, Place, Plan, Planned};
use support::{Need, trial};

fn main() {
    let needs = [Need::Root, Need::Tool("ip"), Need::Tool("ethtool")];
    let trials: Vec<Trial> =
        vec![trial("a device gets its values and gives them back", &needs, a_pair)];
    support::run(trials);
}

/// A pair of devices, gone when this is dropped.
struct Pair(&'static str);

impl Pair {
    fn make(name: &'static str) -> Result<Self, Failed> {
        let peer = format!("{name}p");
        let made = run("ip", &["link", "add", name, "type", "veth", "peer", "name", &peer]);
        made.map(|_| Self(name))
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = run("ip", &["link", "del", self.0]);
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<String, Failed> {
    let output = Command::new(program).args(arguments).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => {
            Err(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr))
                .into())
        }
    }
}

fn planned(device: &Device, place: Place, form: Form, to: &str) -> Planned {
    Planned {
        setting: format!("{place:?}"),
        device: Some(device.clone()),
        place,
        form,
        from: Err(Why::Absent),
        to: to.to_owned(),
        because: String::new(),
        cost: String::new(),
        drops_link: None,
    }
}

/// All that ethtool and the files tell of a device.
fn snapshot(name: &str) -> Result<String, Failed> {
    let mut all = run("ethtool", &["-l", name])? + &run("ethtool", &["-k", name])?;
    for queue in ["rx-0/rps_cpus", "rx-0/rps_flow_cnt"] {
        all += &std::fs::read_to_string(format!("/sys/class/net/{name}/queues/{queue}"))?;
    }
    all += &std::fs::read_to_string(format!("/sys/class/net/{name}/mtu"))?;
    all += &std::fs::read_to_string(format!("/sys/class/net/{name}/tx_queue_len"))?;
    Ok(all)
}

fn a_pair() -> Result<(), Failed> {
    let pair = Pair::make("nearside0")?;
    let name = pair.0;
    let address = std::fs::read_to_string(format!("/sys/class/net/{name}/address"))?;
    let device = Device {
        name: name.to_owned(),
        kind: DeviceKind::Nic,
        function: None,
        serial: Some(address.trim().to_owned()),
        port: None,
    };
    let file = |path: &str| Place::File { path: format!("/sys/class/net/{{device}}/{path}") };
    let ethtool = |what| Place::Ethtool { what };
    let changes = vec![
        planned(&device, ethtool(Ethtool::Channels), Form::Text, "rx=2 tx=2"),
        planned(&device, ethtool(Ethtool::Features), Form::Text, "sg=off"),
        planned(&device, file("mtu"), Form::Number, "1400"),
        planned(&device, file("tx_queue_len"), Form::Number, "2000"),
        planned(&device, file("queues/rx-0/rps_cpus"), Form::CpuMask, "0"),
        planned(&device, file("queues/rx-0/rps_flow_cnt"), Form::Number, "1024"),
        planned(&device, file("queues/rx-1/rps_flow_cnt"), Form::Number, "512"),
    ];
    let plan = Plan { changes, ..Plan::default() };
    let options = Options { on_failure: OnFailure::Undo, ..Options::default() };
    let before = snapshot(name)?;
    let root = LiveRoot::open()?;
    let folder = tempfile::tempdir()?;
    let mut journal = Journal::open(&folder.path().join("journal"), Wait::Refuse)?;
    let receipts = apply(&root, &mut journal, &plan, &options)?;
    assert_eq!(receipts.ending, Ending::Done, "{receipts:?}");
    let after = snapshot(name)?;
    assert_eq!(root.ethtool(name, &Ethtool::Channels).as_deref(), Ok("rx=2 tx=2"));
    assert!(after.contains("scatter-gather: off") && before.contains("scatter-gather: on"));
    let standings = verify(&root, journal.transactions())?;
    assert!(standings.iter().all(|one| one.standing == Standing::AsSet), "{standings:?}");
    let again = apply(&root, &mut journal, &plan, &options)?;
    assert_eq!(again.transaction, None, "{again:?}");
    let reverted = revert(&root, &mut journal, &Selection::All, Force::Respect)?.reverted;
    assert!(reverted.iter().all(|one| !one.is_stuck()), "{reverted:?}");
    assert_eq!(snapshot(name)?, before);
    assert_eq!(journal.transactions(), []);
    refusals(&root, &plan)
}

/// What a driver refuses says why, and nothing of it stays.
fn refusals(root: &LiveRoot, plan: &Plan) -> Result<(), Failed> {
    let name = "nearside0";
    let before = snapshot(name)?;
    for (place, to) in [
        (Place::Ethtool { what: Ethtool::Channels }, "rx=64"),
        (Place::Ethtool { what: Ethtool::Rings }, "rx=64"),
        (Place::Ethtool { what: Ethtool::Pause }, "rx=on"),
        (Place::Ethtool { what: Ethtool::ReceiveSpread }, "2"),
        (Place::File { path: "/sys/class/net/{device}/mtu".to_owned() }, "70000"),
    ] {
        let first = plan.changes.first().cloned().into_iter();
        let bad =
            plan.changes.first().map(|one| Planned { place, to: to.to_owned(), ..one.clone() });
        let bad = Plan { changes: first.chain(bad).collect(), ..Plan::default() };
        let medium = MemoryMedium::default();
        let mut journal = Journal::on(Box::new(medium), Path::new("journal"))?;
        let receipts = apply(root, &mut journal, &bad, &Options::default())?;
        assert_eq!(receipts.ending, Ending::Undone, "{to}: {receipts:?}");
        assert_eq!(snapshot(name)?, before, "{to}");
    }
    Ok(())
}
