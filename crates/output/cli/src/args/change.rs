// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the verbs that plan and make changes take.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Goal;

/// What is wished.
#[derive(Debug, Args)]
pub(crate) struct Wishes {
    /// All that the audit proposes for a goal
    ///
    /// Where nothing else is asked it is throughput.
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: Option<Goal>,

    /// A setting by name: NAME=VALUE, or NAME=VALUE@DEVICE
    ///
    /// It is set on every device that has it, where none is given.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,

    /// Settings from a TOML file
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) profile: Option<PathBuf>,

    /// Of the goal only these, besides --set
    #[arg(long, value_name = "SETTING", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Only these devices
    ///
    /// By name, function, or by what they are: serial:NUMBER, nic:FUNCTION, mac:ADDRESS.
    #[arg(long, value_name = "DEVICE", value_delimiter = ',')]
    pub(crate) device: Vec<String>,

    /// Interrupts of the devices on these CPUs: the first queue on the first
    #[arg(
        long,
        value_name = "LIST",
        requires = "device",
        conflicts_with = "node",
        hide_short_help = true
    )]
    pub(crate) cpus: Option<String>,

    /// Interrupts of the devices on the cores of this node, one each
    #[arg(long, value_name = "N", requires = "device", hide_short_help = true)]
    pub(crate) node: Option<u32>,

    /// Fewer channels where a port has more queues than near cores
    #[arg(long, hide_short_help = true)]
    pub(crate) fit_channels: bool,

    /// Network device that must not lose its link (what carries a login or storage is found by itself)
    #[arg(long, value_name = "NIC", value_delimiter = ',', hide_short_help = true)]
    pub(crate) carries: Vec<String>,
}

/// Where changes are written down.
#[derive(Debug, Args)]
pub(crate) struct Changing {
    /// The journal, /var/lib/nearside/journal unless told otherwise
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) journal: Option<PathBuf>,

    /// Give up where another nearside is changing the machine, instead of waiting for it
    #[arg(long, hide_short_help = true)]
    pub(crate) no_wait: bool,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
#[command(
    after_help = "What is named may drop a link that the login uses; else it is left out.\nExamples:\n  nearside plan --goal latency\n  \
                        nearside plan --set nic-rx-ring=4096@eth0\n  nearside plan --device eth0 --cpus 3,1\n  \
                        nearside plan --only nic-irq-placement --script > place.sh"
)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) wishes: Wishes,

    /// Print a shell script that carries it out
    #[arg(long, conflicts_with_all = ["undo_script", "json"])]
    pub(crate) script: bool,

    /// Print a shell script that takes it back
    #[arg(long, conflicts_with = "json")]
    pub(crate) undo_script: bool,

    /// Every place and every line
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// Arguments of `apply`.
#[derive(Debug, Args)]
#[command(
    after_help = "If one change fails, all are taken back.\nExamples:\n  nearside apply --only \
                        nic-irq-placement --device eth0\n  nearside apply --set \
                        nic-rx-ring=4096@eth0 --confirm-within 60s"
)]
pub(crate) struct Apply {
    #[command(flatten)]
    pub(crate) wishes: Wishes,

    /// Print the shell script that would do it, and change nothing
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,

    /// Go on after a change that failed, and leave the others
    #[arg(long, hide_short_help = true)]
    pub(crate) keep_going: bool,

    /// Take all back by itself, unless `apply --confirm` comes in time: 60s, 5m
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub(crate) confirm_within: Option<Duration>,

    /// Confirm the transaction that waits for it: it stays
    #[arg(long, value_name = "N", num_args = 0..=1, hide_short_help = true, conflicts_with_all = ["dry_run", "confirm_within", "goal", "set", "profile", "only"])]
    pub(crate) confirm: Option<Option<u64>>,

    /// Refuse where the machine is not the one that `persist` was called on
    #[arg(long, hide = true)]
    pub(crate) persisted: bool,

    /// Values too that were as wanted before
    #[arg(long, short, hide_short_help = true)]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) changing: Changing,
}

/// Arguments of `revert`.
#[derive(Debug, Args)]
#[command(
    after_help = "A value that somebody else has set since stays, and is told.\nExamples:\n  nearside revert --list\n  nearside revert \
                        --transaction 3\n  nearside revert --device eth0"
)]
pub(crate) struct Revert {
    /// Only the changes of one transaction
    #[arg(long, value_name = "N", group = "choice")]
    pub(crate) transaction: Option<u64>,

    /// Only the changes of one setting
    #[arg(long, value_name = "SETTING", group = "choice")]
    pub(crate) setting: Option<String>,

    /// Only the changes of one device
    #[arg(long, value_name = "DEVICE", group = "choice")]
    pub(crate) device: Option<String>,

    /// Take back values too that somebody else has set since
    #[arg(long)]
    pub(crate) force: bool,

    /// List the transactions that can be taken back
    #[arg(long, conflicts_with = "choice")]
    pub(crate) list: bool,

    /// Print the shell script that would do it, and change nothing
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,

    /// Wait for the transaction with this token, and take it back unless it is confirmed in time
    #[arg(long, value_name = "TOKEN", hide = true, conflicts_with_all = ["choice", "dry_run", "list"])]
    pub(crate) unless_confirmed: Option<String>,

    /// Values too that are as before already
    #[arg(long, short)]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) changing: Changing,
}

/// Arguments of `verify`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 3 tells that something does not hold.\nExamples:\n  nearside verify\n  nearside \
                        verify --watch 30s"
)]
pub(crate) struct Verify {
    /// Look again and again, so often: 1s at least; with --json a document a line
    #[arg(long, value_name = "TIME", value_parser = period, num_args = 0..=1, default_missing_value = "10s")]
    pub(crate) watch: Option<Duration>,

    /// Values too that hold
    #[arg(long, short)]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) changing: Changing,
}

/// Arguments of `persist`.
#[derive(Debug, Args)]
#[command(
    after_help = "At each boot the plan is made afresh; on another topology nothing is changed.\nExamples:\n  nearside persist --goal \
                        throughput\n  nearside persist --goal latency --verify-every 5m\n  nearside persist --remove"
)]
pub(crate) struct Persist {
    #[command(flatten)]
    pub(crate) wishes: Wishes,

    /// Look so often whether all holds, by a timer whose unit fails where it does not: 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = period, conflicts_with = "remove")]
    pub(crate) verify_every: Option<Duration>,

    /// Print the shell script that would do it, and change nothing
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,

    /// The journal that it is written down in, /var/lib/nearside/journal unless told otherwise
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) journal: Option<PathBuf>,

    /// Let it go, and leave nothing behind
    #[arg(long, conflicts_with_all = ["goal", "set", "profile", "only"])]
    pub(crate) remove: bool,
}

/// `90`, `90s`, `5m`, `1h`.
fn time(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (number, text.get(number.len()..).unwrap_or_default()),
        None => (text, "s"),
    };
    let seconds = match unit {
        "h" => 3600,
        "m" => 60,
        _ => 1,
    };
    let number: u64 = number.parse().map_err(|_| "a time is like 60s, 5m or 1h".to_owned())?;
    let seconds = number.checked_mul(seconds).filter(|seconds| *seconds <= 86_400);
    seconds.map(Duration::from_secs).ok_or_else(|| "a time is at most a day".to_owned())
}

/// A time that has to pass.
fn period(text: &str) -> Result<Duration, String> {
    let period = time(text)?;
    if period.is_zero() { Err("a period is at least 1s".to_owned()) } else { Ok(period) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_changed_something_is_told_from_what_only_looks() {
        use clap::Parser as _;

        let may = |words: &[&str]| {
            let all = [&["nearside"], words].concat();
            crate::args::Arguments::try_parse_from(all).unwrap().may_change()
        };
        for words in [&["apply"][..], &["revert"], &["persist"], &["apply", "--confirm", "3"]] {
            assert!(may(words), "{words:?}");
        }
        for words in
            [&[][..], &["plan"], &["apply", "--dry-run"], &["revert", "--list"], &["verify"]]
        {
            assert!(!may(words), "{words:?}");
        }
    }

    #[test]
    fn times_have_units_and_an_end() {
        for (text, seconds) in [("0", 0), ("90", 90), ("60s", 60), ("5m", 300), ("24h", 86_400)] {
            assert_eq!(time(text), Ok(Duration::from_secs(seconds)));
        }
        for text in ["", "s", "-1", "1d", "25h", "99999999999999999999", "1.5s", "ä"] {
            assert!(time(text).is_err(), "{text}");
        }
        assert!(period("0s").is_err() && period("1s").is_ok());
    }
}
