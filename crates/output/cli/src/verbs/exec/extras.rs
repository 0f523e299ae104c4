// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a command takes besides its placement, in the words of others: nothing that was asked for is
//! left out in silence.

use place::words::Dialect;
use run::IoPriority;

use crate::args::Exec;

/// A command with the words that set niceness and I/O priority before it.
pub(super) fn before(exec: &Exec, dialect: Dialect, command: &str) -> String {
    let is_line = !matches!(dialect, Dialect::Systemd | Dialect::Kubernetes);
    let words = if is_line { line(exec) } else { Vec::new() };
    words.into_iter().chain([command.to_owned()]).collect::<Vec<_>>().join(" ")
}

fn line(exec: &Exec) -> Vec<String> {
    let nice = exec.nice.map(|more| format!("nice -n {more}"));
    let io = exec.ioprio.map(|io| match io {
        IoPriority::Realtime(level) => format!("ionice -c 1 -n {level}"),
        IoPriority::BestEffort(level) => format!("ionice -c 2 -n {level}"),
        IoPriority::Idle => "ionice -c 3".to_owned(),
    });
    nice.into_iter().chain(io).collect()
}

/// Lines after the words of a dialect: systemd.exec(5) has its own, and comments say what is in none.
pub(super) fn after(exec: &Exec, dialect: Dialect) -> String {
    let mut text = match dialect {
        Dialect::Systemd => unit(exec),
        Dialect::Kubernetes if !line(exec).is_empty() => {
            format!("# a pod has no words for {}\n", line(exec).join(" "))
        }
        _ => String::new(),
    };
    if let Some(folder) = &exec.cgroup {
        text.push_str(&format!(
            "# --cgroup {folder:?} is not in these words: exec itself moves there\n"
        ));
    }
    text
}

fn unit(exec: &Exec) -> String {
    let nice = exec.nice.map(|more| format!("Nice={more}\n"));
    let io = exec.ioprio.map(|io| match io {
        IoPriority::Realtime(level) => scheduling("realtime", Some(level)),
        IoPriority::BestEffort(level) => scheduling("best-effort", Some(level)),
        IoPriority::Idle => scheduling("idle", None),
    });
    nice.into_iter().chain(io).collect()
}

fn scheduling(class: &str, level: Option<u8>) -> String {
    let level = level.map(|level| format!("IOSchedulingPriority={level}\n"));
    format!("IOSchedulingClass={class}\n{}", level.unwrap_or_default())
}

/// What a person is told of it; nothing where nothing was asked.
pub(super) fn told(exec: &Exec) -> String {
    let cgroup = exec.cgroup.as_ref().map(|folder| format!("moves into {folder:?}"));
    let all: Vec<String> = line(exec).into_iter().chain(cgroup).collect();
    if all.is_empty() { String::new() } else { format!("beside it  {}\n", all.join(", ")) }
}
