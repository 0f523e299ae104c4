// SPDX-License-Identifier: MIT OR Apache-2.0
//! `apply --confirm-within` on the running kernel, in a network namespace whose values are its own:
//! what guards a transaction takes back that one alone, and a confirmation is of that one alone.

use std::path::Path;
use std::process::Command;

use journal::{Begin, Guard, Intent, Journal, Raw, Wait};
use setting::{Form, Place};
use support::{Failed, Need, Trial, failed, trial};

/// What a shell is given before each script. `back` waits until the value is as before.
const HEAD: &str = r#"
set -eu
value() { cat /proc/sys/net/core/somaxconn; }
is() { [ "$(value)" = "$1" ] || { echo "line $2: $(value), and not $1"; exit 99; }; }
code() { wanted=$1; shift; got=0; "$@" || got=$?; [ $got = $wanted ] || { echo "$*: ends with $got"; exit 98; }; }
said() { grep -qF -- "$1" $T/said || { echo "not said: $1"; cat $T/said; exit 97; }; }
nearside() { "$NEARSIDE" "$@" --journal $T/journal >$T/said 2>&1; }
back() { for _ in $(seq 300); do [ "$(value)" = "$1" ] && return; sleep 0.1; done; is $1 back; }
echo 100 > /proc/sys/net/core/somaxconn
"#;

/// A name, and what a shell does.
const SCRIPTS: [(&str, &str); 4] = [
    (
        "what_nobody_confirms_comes_back",
        r#"
        code 0 nearside apply --set somaxconn=200 --confirm-within 3s
        said "confirm within 3 s, or all is taken back:  nearside apply --confirm 1 --journal $T/journal"
        is 200 applied
        nearside revert --list; said "waits for its confirmation"
        nearside verify; said "transaction 1 waits for its confirmation"
        back 100
        code 4 nearside apply --confirm; said "nothing waits for a confirmation"
        code 4 nearside apply --confirm 1; said "transaction 1 has been taken back already"
        code 2 nearside apply --confirm 9; said "the journal has no transaction 9"
        "#,
    ),
    (
        "a_confirmation_is_of_the_guarded_one",
        r#"
        code 0 nearside apply --set somaxconn=200 --confirm-within 4s
        code 4 nearside apply --set tcp-slow-start-after-idle=0
        said "transaction 1 waits to be confirmed or taken back"
        code 0 nearside apply --confirm; said "Transaction 1 is confirmed with"
        sleep 6
        is 200 confirmed
        code 0 nearside apply --set tcp-slow-start-after-idle=0
        code 4 nearside apply --confirm; said "nothing waits for a confirmation"
        code 4 nearside apply --confirm 1; said "transaction 1 is confirmed already"
        code 4 nearside apply --confirm 2; said "does not wait for a confirmation"
        "#,
    ),
    (
        "nothing_is_changed_while_one_waits",
        r#"
        code 0 nearside apply --set somaxconn=200 --confirm-within 5s
        code 4 nearside apply --set somaxconn=300 --confirm-within 1s
        said "transaction 1 waits to be confirmed or taken back"
        back 100
        code 0 nearside apply --set somaxconn=300
        is 300 "after the wait"
        "#,
    ),
    (
        "the_hint_comes_where_the_answer_cannot",
        r#"
        code 4 "$NEARSIDE" apply --set somaxconn=200 --confirm-within 2s --journal $T/journal >/dev/full 2>$T/said
        said "nearside apply --confirm 1 --journal $T/journal"
        said "cannot write the output"
        said "the change was made"
        back 100
        "#,
    ),
];

fn main() {
    let needs = [Need::Root, Need::Tool("unshare")];
    let mut trials: Vec<Trial> = SCRIPTS
        .into_iter()
        .map(|(name, script)| trial(name, &needs, move || shell(script, |_| Ok(()))))
        .collect();
    trials.push(trial("one_that_is_not_made_leaves_nothing", &needs, not_made));
    trials.push(trial("one_that_was_cut_short_is_not_confirmed", &needs, cut_short));
    support::run(trials);
}

/// Runs a script in a network namespace of its own, with a folder whose journal is prepared.
fn shell(script: &str, prepare: impl Fn(&Path) -> Result<(), Failed>) -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    prepare(&folder.path().join("journal"))?;
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", &format!("{HEAD}{script}")]);
    command.env("T", folder.path()).env("NEARSIDE", env!("CARGO_BIN_EXE_nearside"));
    let output = command.output().map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(failed(format!("{text}{error}"))) }
}

/// A journal with a transaction of which nothing is told beyond its intention.
fn begun(path: &Path, guard: Option<Guard>) -> Result<(), Failed> {
    let mut journal = Journal::open(path, Wait::Refuse).map_err(failed)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map_err(failed)?;
    let text = |text: &str| text.to_owned();
    let begin = Begin {
        transaction: 0,
        boot: text(boot.trim()),
        at: text("2026-01-01T00:00:00Z"),
        version: text("0.1.0"),
        why: text("a test"),
        owner: None,
        network: None,
        guard,
    };
    let path = text("/proc/sys/net/core/somaxconn");
    let intent = Intent {
        setting: text("somaxconn"),
        device: None,
        place: Place::File { path: path.clone() },
        part: String::new(),
        path,
        form: Form::Number,
        before: Raw::text("100\n"),
        to: text("200"),
        witnesses: Vec::new(),
    };
    journal.intend(begin, &[intent]).map(drop).map_err(failed)
}

/// A guard whose apply never began a transaction takes back no other one.
fn not_made() -> Result<(), Failed> {
    let script = r#"
        code 4 nearside apply --set somaxconn=200 --confirm-within 3s; said "was cut short"
        nearside revert
        code 0 nearside apply --set somaxconn=200
        sleep 5
        is 200 "taken back by another's guard"
    "#;
    shell(script, |journal| begun(journal, None))
}

fn cut_short() -> Result<(), Failed> {
    let script = r#"
        echo 200 > /proc/sys/net/core/somaxconn
        code 4 nearside apply --confirm; said "transaction 1 was cut short and cannot be confirmed"
        code 4 nearside apply --confirm 1; said "transaction 1 was cut short and cannot be confirmed"
        code 0 nearside revert --unless-confirmed other
        is 200 "not its transaction"
        code 0 nearside revert --unless-confirmed abc
        is 100 "taken back at once"
    "#;
    let guard = || Some(Guard { token: "abc".to_owned(), seconds: 600 });
    shell(script, |journal| begun(journal, guard()))
}
