// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changing a machine from the command line, as a person does it: in a network namespace of its own,
//! whose values are nobody else's.
//!
//! Each trial is a shell script that runs `nearside` on its own journal (`$J`), with its own /sys; what
//! the script prints is looked at.

use std::process::{Command, Output};

use support::{Failed, Need, Trial, failed, trial};

/// A script, and what its output and its exit codes (printed by it) must hold and must not.
struct Walk {
    name: &'static str,
    script: &'static str,
    says: &'static [&'static str],
    never: &'static [&'static str],
}

const WALKS: [Walk; 18] = [
    Walk {
        // Whoever starts it holds the journal until it hears the word.
        name: "what-waits-says-so-before-it-asks-for-the-journal",
        script: "nearside apply --set somaxconn=5000 --confirm-within 3s; exec 9>>$J.lock; flock 9\n\
                 T=$(grep -o '\"token\":\"[0-9a-f]*' $J | cut -d '\"' -f 4)\n\
                 $N revert --unless-confirmed $T --journal $J > $J.said 9>&- &\n\
                 for i in $(seq 300); do [ -s $J.said ] && break; sleep 0.1; done\n\
                 cat $J.said; flock -u 9; wait; cat $S",
        says: &["ready\n", "\n4096"],
        never: &[],
    },
    Walk {
        name: "no-time-to-confirm-is-refused",
        script: "nearside apply --set somaxconn=5000 --confirm-within 0s; echo rc $?; cat $S",
        says: &["a period is at least 1s", "rc 2", "\n4096"],
        never: &["5000\n"],
    },
    Walk {
        name: "a-second-to-confirm-comes-back",
        script: "nearside apply --set somaxconn=5000 --confirm-within 1s; echo rc $?\n\
                 wait_for 4096 && echo is back",
        says: &["rc 0", "nearside apply --confirm 1 --journal $J", "is back"],
        never: &[],
    },
    Walk {
        name: "what-is-confirmed-stays",
        script: "nearside apply --set somaxconn=5000 --confirm-within 600s; nearside revert --list; nearside verify\n\
                 nearside apply --confirm; echo rc $?; nearside verify; nearside apply --confirm; echo rc $?",
        says: &[
            "1 value, waits for its confirmation, ",
            "The one value holds.\ntransaction 1 waits for its confirmation, ",
            "nearside apply --confirm 1 --journal $J",
            "Transaction 1 is confirmed with ",
            "nothing waits for a confirmation",
            "rc 4",
        ],
        never: &[],
    },
    Walk {
        name: "hints-name-the-journal",
        script: "nearside apply --set somaxconn=5000; nearside revert --transaction 9; echo rc $?",
        says: &[
            "nearside verify --journal $J\n",
            "nearside revert --transaction 1 --journal $J\n",
            "the journal has no transaction 9",
            "`nearside revert --list --journal $J`",
            "rc 2",
        ],
        never: &[],
    },
    Walk {
        name: "a-cut-is-told",
        script: "nearside apply --set somaxconn=5000; sed -i '$d' $J\n\
                 nearside verify; echo rc $?; nearside verify --json | grep -A1 cut_short; nearside apply --set \
                 somaxconn=6000; echo rc $?; nearside revert; echo rc $?; nearside verify; echo rc $?; cat $S",
        says: &[
            "Transaction 1 was cut short. The one value holds.",
            "rc 3",
            "\"cut_short\": [\n    1",
            "nearside revert --transaction 1 --journal $J",
            "transaction 1 was cut short and is not undone",
            "rc 4",
            "1 value taken back, byte for byte.",
            "Nothing is applied.",
            "\n4096",
        ],
        never: &[],
    },
    Walk {
        name: "what-is-named-and-cannot-be-is-told",
        script: "nearside apply --only mtu; echo rc $?; nearside apply --only mtu --json | grep -A3 imposs\n\
                 nearside apply --set somaxconn=5000 --set dirty-ratio=5 --set dirty-bytes=99999999\n\
                 echo rc $?; cat $S",
        says: &[
            "Nothing was written: 1 of what was asked for is not possible here.",
            "impossible  mtu",
            "the goal throughput has no wish for it",
            "rc 4",
            "nearside plan --only mtu",
            "\"impossible\": [\n    {\n      \"setting\": \"mtu\"",
            "--keep-going makes the other changes",
            "nearside plan --set somaxconn=5000 --set dirty-ratio=5 --set dirty-bytes=99999999",
            "\n4096",
        ],
        never: &["as wanted", "rc 0"],
    },
    Walk {
        name: "values-are-looked-at",
        script: "try() { nearside apply \"$@\"; echo rc $?; }\n\
                 try --set swappiness=500; try --set mtu=70000@lo; try --set swappiness=10@lo\n\
                 try --set somaxconn=1 --set somaxconn=2; try --set mtu=abc; try --set foo=1\n\
                 $N audit --only swapp; $N revert --list --journal /proc; cat $S",
        says: &[
            "swappiness does not take \"500\"",
            "a number from 0 to 200",
            "mtu does not take \"70000\"",
            "a number from 68 to 65535",
            "swappiness is the machine's, and lo has none of its own",
            "somaxconn is asked for twice",
            "mtu does not take \"abc\"",
            "rc 2",
            "did you mean swappiness?",
            "give the path of a file with --journal",
            "\n4096",
        ],
        never: &["rc 0", "rc 4", "a word", "c1e", "/var/lib"],
    },
    Walk {
        name: "another-namespace-is-left-alone",
        script: "nearside apply --set somaxconn=5000\n\
                 unshare -n sh -c \"$N verify --journal $J; echo rc \\$?; $N revert --journal $J; echo rc \\$?; \
                 cat $S\"\n\
                 nearside verify; nearside revert; cat $S",
        says: &[
            "set in another network namespace",
            "rc 3",
            "No value taken back; 1 of another network namespace and kept.",
            "\n4096\nThe one value holds.",
            "1 value taken back, byte for byte.",
        ],
        never: &["somebody"],
    },
    Walk {
        name: "names-that-the-journal-has-not",
        script: "nearside apply --set somaxconn=5000; nearside revert --setting somaxcon; echo rc $?\n\
                 nearside revert --device eth7; echo rc $?; nearside revert --dry-run --setting dirty; echo rc $?",
        says: &[
            "the journal has no change of \"somaxcon\"",
            "did you mean \"somaxconn\"?",
            "the journal has no change of \"eth7\"",
            "the journal has no change of \"dirty\"",
            "rc 2",
        ],
        never: &["Nothing to take back", "rc 0"],
    },
    Walk {
        name: "what-force-writes-is-told",
        script: "nearside apply --set somaxconn=5000; nearside apply --set somaxconn=6000; echo 33 > $S\n\
                 nearside revert; echo rc $?; nearside revert --force; cat $S",
        says: &["somebody set 33 since; --force writes 4096", "rc 3", "→ 4096", "\n4096"],
        never: &["--force writes 5000"],
    },
    Walk {
        name: "virtual-links-take-what-they-have",
        script: "ip link add va type veth peer name vb; ip link set va up; ip link set vb up\n\
                 ip addr add 10.9.0.1/24 dev va; ip route add default via 10.9.0.2\n\
                 nearside apply --set mtu=1400@va; echo rc $?; cat /sys/class/net/va/mtu\n\
                 nearside apply --set nic-tx-queue-length=77@vb; cat /sys/class/net/vb/tx_queue_len\n\
                 nearside revert; cat /sys/class/net/va/mtu",
        says: &[
            "this drops the link of va for a moment, which carries the default route",
            "with --confirm-within 60s",
            "rc 0\n1400\n",
            "\n77\n",
            "2 values taken back, byte for byte.",
            "\n1500",
        ],
        never: &["no device here"],
    },
    Walk {
        name: "a-link-that-waits-comes-back-whatever-is-applied-meanwhile",
        script: "ip link add va type veth peer name vb; ip link set va up\n\
                 nearside apply --set mtu=1400@va --confirm-within 600s\n\
                 nearside apply --set mtu=1300@va; echo rc $?; nearside apply --set somaxconn=5000; echo rc $?\n\
                 cat /sys/class/net/va/mtu; nearside revert; cat /sys/class/net/va/mtu; nearside revert --list",
        says: &[
            "transaction 1 waits to be confirmed or taken back",
            "rc 4\n1400\n",
            "\n1500\n",
            "No changes are in the journal",
        ],
        never: &["rc 0"],
    },
    Walk {
        name: "a-link-without-hardware-is-itself-under-another-name",
        script: "ip link add va type veth peer name vb; nearside apply --set mtu=1400@va\n\
                 ip link set va name vz; ip link set vb name va; ip link set va mtu 9000\n\
                 nearside verify; echo rc $?; nearside revert --force; echo rc $?\n\
                 cat /sys/class/net/vz/mtu /sys/class/net/va/mtu\n\
                 nearside apply --set mtu=1400@vz; ip link del vz; ip link add vz type veth peer name vy\n\
                 nearside revert --force; echo rc $?; cat /sys/class/net/vz/mtu",
        says: &["rc 0\n", "\n1500\n9000\n", "rc 3\n1500"],
        never: &["drifted"],
    },
    Walk {
        // What another one was changing has come by then.
        name: "the-plan-is-made-once-the-journal-is-free",
        script: "exec 9>>$J.lock; flock 9; nearside apply --set mtu=1400@late > $J.said 2>&1 9>&- &\n\
                 for i in $(seq 300); do grep -q waiting $J.said && break; sleep 0.1; done\n\
                 ip link add late type veth peer name early; flock -u 9; wait; cat $J.said\n\
                 cat /sys/class/net/late/mtu",
        says: &["waiting for another nearside", "\n1400\n"],
        never: &["no device called"],
    },
    Walk {
        name: "a-damaged-journal-is-named",
        script: "echo x > $J; nearside apply --set somaxconn=5000; echo rc $?",
        says: &["$J: line 1: not a nearside journal", "rc 4"],
        never: &[],
    },
    Walk {
        name: "the-list-is-a-table-and-a-document",
        script: "nearside apply --set somaxconn=5000; nearside apply --set somaxconn=6000 --set tcp-slow-start-after-idle=off\n\
                 nearside revert --list; nearside revert --list --json",
        says: &[
            "Z  2 values  nearside apply --journal $J --set somaxconn=6000",
            "Z  1 value   nearside apply --journal $J --set somaxconn=5000",
            "\"schema\": \"transactions/1\"",
            "\"values\": 2",
            "  by ",
            "\"user\": 0",
        ],
        never: &[],
    },
    Walk {
        name: "the-script-of-a-revert-takes-back",
        script: "nearside apply --set somaxconn=5000; nearside apply --set somaxconn=6000 --set tcp-slow-start-after-idle=off\n\
                 nearside revert --dry-run > $J.sh; sh $J.sh; echo rc $?; cat $S",
        says: &["rc 0\n4096"],
        never: &["failed"],
    },
];

/// What every script can use: `nearside`, the program `$N`, the journal `$J`, a knob of the namespace
/// `$S` (4096 in the beginning), and a wait for what comes by itself.
const BEGIN: &str = r#"exec 2>&1
mount -t sysfs sysfs /sys
ip link set lo up
S=/proc/sys/net/core/somaxconn
nearside() { verb=$1; shift; "$N" "$verb" --journal "$J" "$@"; }
wait_for() { for i in $(seq 300); do [ "$(cat $S)" = "$1" ] && return 0; sleep 0.1; done; return 1; }
"#;

fn main() {
    let needs = [Need::Root, Need::Tool("unshare"), Need::Tool("ip"), Need::Tool("flock")];
    let trials = WALKS.iter().map(|walk| trial(walk.name, &needs, move || look(walk)));
    let trials: Vec<Trial> = trials.collect();
    support::run(trials)
}

fn look(walk: &Walk) -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let journal = folder.path().join("journal").display().to_string();
    let printed = text(&walked(walk.script, &journal)?);
    for says in walk.says {
        let says = says.replace("$J", &journal);
        if !printed.contains(&says) {
            return Err(format!("{says:?} is not said:\n{printed}").into());
        }
    }
    match walk.never.iter().find(|never| printed.contains(**never)) {
        None => Ok(()),
        Some(never) => Err(format!("{never:?} is said:\n{printed}").into()),
    }
}

fn walked(script: &str, journal: &str) -> Result<Output, Failed> {
    let script = format!("{BEGIN}{script}");
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "timeout", "120", "sh", "-c", &script]);
    command.env("N", env!("CARGO_BIN_EXE_nearside")).env("J", journal).env("LANG", "C.UTF-8");
    command.output().map_err(failed)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
