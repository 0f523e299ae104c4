// SPDX-License-Identifier: MIT OR Apache-2.0
//! What placing interrupts and verifying knobs costs, against what people do by hand.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::cost::{Cost, Line, Rounds};
use super::{Bench, scratch};
use crate::project;

/// As the vendors' scripts place interrupts: each written by `echo`, and read back by `$(cat ...)`.
const LOOP: &str = r#"while read -r irq cpu; do
    echo "$cpu" > "$1/proc/irq/$irq/smp_affinity_list"
    now=$(cat "$1/proc/irq/$irq/smp_affinity_list")
    [ "$now" = "$cpu" ] || exit 1
done < "$2""#;

/// `verify` found drift: a knob of this machine moved by itself.
const DRIFT: i32 = 3;

impl Bench {
    /// Every interrupt of the 1,024-CPU machine onto another CPU, by `apply` with its journal and by
    /// the scripts' loop, in the same folder: wall time. The folder is in memory where there is such a
    /// file system, as the kernel's own files are: on a disk both wait for it to cut files, each time.
    pub(super) fn placing(&mut self) -> Result<()> {
        let program = example("place_cost")?;
        let machine = self.machine(1)?;
        let home = tempfile::Builder::new().prefix("nearside-bench").tempdir_in(in_memory())?;
        println!("placing in {}", home.path().display());
        let out = scratch().join("place");
        let [tree, journal, first, second, list] = [
            home.path().to_owned(),
            out.join("journal"),
            out.join("plan-a"),
            out.join("plan-b"),
            out.join("list-b"),
        ];
        let tree = text(&tree)?;
        Line::new(&program, &["wish", text(&machine)?, tree, text(&out)?]).measure()?;
        let place = ["place", tree, text(&journal)?, text(&first)?, text(&second)?];
        let theirs = Line::new("bash".as_ref(), &["-c", LOOP, "loop", tree, text(&list)?]);
        let ours = [Line::new(&program, &place)];
        let rounds = Rounds::run(self.rounds.min(5), &ours, &theirs)?;
        let count = std::fs::read_to_string(&list)?.lines().count();
        let title = format!("placing {count} interrupts with a journal / echo and cat");
        self.promise(&format!("{title}, wall"), &rounds, Cost::wall_s, 0.1);
        self.note(&format!("{title}, CPU"), &rounds, Cost::cpu_s);
        Ok(())
    }

    /// `verify` of 10,000 knobs of this machine against `cat` of the same files: CPU time.
    pub(super) fn verifying(&mut self) -> Result<()> {
        let program = example("verify_cost")?;
        let out = scratch().join("verify");
        let (journal, list) = (out.join("journal"), out.join("list"));
        std::fs::create_dir_all(&out)?;
        Line::new(&program, &[text(&journal)?, text(&list)?]).measure()?;
        let list = std::fs::read_to_string(&list)?;
        let paths: Vec<&str> = list.lines().collect();
        let verify = Line::new(&self.nearside, &["verify", "--journal", text(&journal)?]);
        let ours = [verify.or_exits(DRIFT)];
        let rounds = Rounds::run(self.rounds, &ours, &Line::new("cat".as_ref(), &paths))?;
        let title = format!("verify of {} knobs / cat of their files", paths.len());
        self.promise(&format!("{title}, CPU"), &rounds, Cost::cpu_s, 3.0);
        self.note(&format!("{title}, wall"), &rounds, Cost::wall_s);
        Ok(())
    }
}

/// A folder whose files are in memory (tmpfs(5)), else that of the benchmarks.
fn in_memory() -> PathBuf {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let is_memory = |line: &str| line.starts_with("tmpfs /dev/shm tmpfs rw");
    if mounts.lines().any(is_memory) { PathBuf::from("/dev/shm") } else { scratch() }
}

/// An example of the crate that applies, built as the program is.
fn example(name: &str) -> Result<PathBuf> {
    let build = ["build", "--release", "--package", "nearside-apply", "--example", name];
    project::call("cargo", &build, &[])?;
    Ok(project::top().join("target/release/examples").join(name))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path is no UTF-8")
}
