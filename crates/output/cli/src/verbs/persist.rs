// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside persist`: keeps a plan over boots, hot-plug and re-opened devices.
//!
//! Not the values are kept but the wish: at each boot devices are found again by what they are and
//! the plan is made afresh. A capture of the machine is kept beside it, and where its topology is
//! another one nothing is changed: a placement that was right for one numbering is wrong for the
//! next.

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use machine::Difference;
use root::{About, LiveRoot, Overwrite, Recorder};

use crate::args::{Common, Persist};
use crate::expected::{Ended, Expected};
use crate::verbs::{change, plan};
use crate::{subject, terminal};

const UNIT: &str = "/etc/systemd/system/nearside.service";
const RULES: &str = "/etc/udev/rules.d/90-nearside.rules";
/// The machine for which the plan was made.
const MACHINE: &str = "/var/lib/nearside/persisted.tar.zst";

pub(crate) fn run(common: &Common, asked: &Persist) -> Result<Ended, Expected> {
    if asked.remove {
        return remove(asked);
    }
    let kernel = change::kernel(common)?;
    // A wish that cannot be planned is not kept.
    plan::make(common, &asked.wishes)?;
    let program = std::env::current_exe()?;
    let files = [(UNIT, unit(&program, &words())), (RULES, rules())];
    if asked.dry_run {
        return terminal::answer(&script(&files)).map(|()| Ended::Well);
    }
    change::demand_root("persist")?;
    demand_systemd()?;
    keep_machine(common, &kernel)?;
    for (path, text) in &files {
        put(Path::new(path), text)?;
    }
    systemctl(&["daemon-reload"])?;
    systemctl(&["enable", "--quiet", "nearside.service"])?;
    reload_rules();
    terminal::answer("Kept: the plan is made afresh and carried out at each boot.\n")?;
    terminal::hint("carry it out now:  systemctl start nearside.service");
    terminal::hint("look at it:        systemctl cat nearside.service");
    terminal::hint("let it go:         nearside persist --remove");
    Ok(Ended::Well)
}

/// Takes away all that was put there; what is applied now stays until `nearside revert`.
fn remove(asked: &Persist) -> Result<Ended, Expected> {
    let there: Vec<&str> =
        [UNIT, RULES, MACHINE].into_iter().filter(|path| Path::new(path).exists()).collect();
    if asked.dry_run {
        let lines = there.iter().map(|path| format!("rm {path}\n")).collect::<String>();
        let text = format!(
            "#!/bin/sh\nset -e\nsystemctl disable nearside.service\n{lines}systemctl daemon-reload\n"
        );
        return terminal::answer(&text).map(|()| Ended::Well);
    }
    change::demand_root("persist --remove")?;
    if Path::new(UNIT).exists() {
        systemctl(&["disable", "--quiet", "nearside.service"])?;
    }
    for path in &there {
        fs::remove_file(path).map_err(|error| cannot("remove", path, &error))?;
    }
    if !there.is_empty() {
        systemctl(&["daemon-reload"])?;
        reload_rules();
    }
    let text = match there.len() {
        0 => "Nothing is kept over boots.\n".to_owned(),
        _ => format!("Removed {}; nothing is kept over boots.\n", there.join(", ")),
    };
    terminal::answer(&text)?;
    terminal::hint("what is applied now stays until the next boot, or: nearside revert");
    Ok(Ended::Well)
}

/// Refuses where the machine is not the one that the kept plan was made for.
pub(crate) fn check_machine(common: &Common, now: &machine::Machine) -> Result<(), Expected> {
    let kept = root::open(Path::new(MACHINE), None).map_err(|error| {
        let what = format!("cannot read the machine that the plan was made for: {error}");
        Expected::precondition(what, "make it again: nearside persist …")
    })?;
    let catalogue = subject::catalogue(common.catalogue.as_deref())?;
    let then = subject::read(&*kept.root, &catalogue).machine;
    let moved: Vec<Difference> =
        then.differences(now).into_iter().filter(Difference::is_of_topology).collect();
    let Some(first) = moved.first() else { return Ok(()) };
    let what = format!(
        "the machine is not the one that the plan was made for: {}, and {} more; nothing was changed",
        difference(first),
        moved.len() - 1
    );
    Err(Expected::precondition(
        what,
        "look at `nearside plan`, then keep it again: nearside persist …",
    ))
}

fn difference(each: &Difference) -> String {
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let (then, now) = (side(&each.here), side(&each.there));
    format!("{} of {} was {then} and is {now}", each.property, each.device)
}

/// Saves the machine as it is read now. It stays here, so nothing in it is replaced.
fn keep_machine(common: &Common, kernel: &LiveRoot) -> Result<(), Expected> {
    let catalogue = subject::catalogue(common.catalogue.as_deref())?;
    let recorder = Recorder::new(kernel);
    let read = subject::read(&recorder, &catalogue);
    let about = About {
        nearside: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: read.machine.host.kernel.unwrap_or_default(),
        time: change::now(),
        redacted: false,
    };
    let path = Path::new(MACHINE);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| cannot("make", MACHINE, &error))?;
    }
    let saved = recorder.into_record().save(path, &about, None, Overwrite::Replace);
    saved.map(drop).map_err(|error| cannot("write", MACHINE, &error))
}

/// The words after `persist` that say what is wished: they become those of `apply`.
fn words() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let wishes = words.skip_while(|word| word != "persist").skip(1);
    absolute(wishes.filter(|word| word != "--dry-run"))
}

/// A unit starts in `/`, so a profile's path must begin there.
fn absolute(words: impl Iterator<Item = String>) -> Vec<String> {
    let from_top = |path: &str| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
        path.display().to_string()
    };
    let mut is_path = false;
    let word = |word: String| {
        let is_profile = std::mem::replace(&mut is_path, word == "--profile");
        match word.strip_prefix("--profile=") {
            Some(path) => format!("--profile={}", from_top(path)),
            None if is_profile => from_top(&word),
            None => word,
        }
    };
    words.map(word).collect()
}

/// The unit. `After=` names what is known to write the same values, so that ours come last.
fn unit(program: &Path, words: &[String]) -> String {
    let words = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let program = quoted(&program.display().to_string());
    format!(
        "# Written by `nearside persist`; `nearside persist --remove` takes it away.\n\
         [Unit]\n\
         Description=nearside: changes kept over boots\n\
         Documentation=man:nearside-persist(1)\n\
         After=local-fs.target systemd-sysctl.service systemd-modules-load.service\n\
         After=network.target tuned.service irqbalance.service power-profiles-daemon.service\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         ExecStart={program} apply --persisted --keep-going {words}\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

/// A word of a unit file: `%` and `$` are doubled, the rest is quoted (systemd.syntax(7)).
fn quoted(word: &str) -> String {
    let word = word.replace('%', "%%").replace('$', "$$");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=@:,./%$".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word;
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A device that comes, or an interface that is opened again, starts the unit once more. What
/// stands as wished is not written again.
fn rules() -> String {
    let start = "RUN+=\"/bin/systemctl --no-block start nearside.service\"";
    let device = |subsystem: &str, more: &str| {
        format!("ACTION==\"add\", SUBSYSTEM==\"{subsystem}\"{more}, {start}\n")
    };
    let head = "# Written by `nearside persist`; `nearside persist --remove` takes it away.\n";
    let block = device("block", ", ENV{DEVTYPE}==\"disk\"");
    format!(
        "{head}{}{block}ACTION==\"online|move\", SUBSYSTEM==\"net\", {start}\n",
        device("net", "")
    )
}

fn script(files: &[(&str, String)]) -> String {
    let file = |(path, text): &(&str, String)| format!("cat > {path} <<'END'\n{text}END\n");
    let files = files.iter().map(file).collect::<String>();
    format!(
        "#!/bin/sh\nset -e\n{files}systemctl daemon-reload\nsystemctl enable nearside.service\nudevadm control --reload\n"
    )
}

fn demand_systemd() -> Result<(), Expected> {
    if Path::new("/run/systemd/system").is_dir() {
        return Ok(());
    }
    let help = "call `nearside apply …` from what starts services here";
    Err(Expected::precondition("systemd does not run here, and a unit needs it", help))
}

fn systemctl(words: &[&str]) -> Result<(), Expected> {
    let failed = |why: String| {
        Expected::precondition(
            format!("systemctl {}: {why}", words.join(" ")),
            "look at journalctl -b",
        )
    };
    let mut command = Command::new("systemctl");
    let status = command.args(words).stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(status.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// udev reads its rules again by itself where it is not told.
fn reload_rules() {
    let _ = Command::new("udevadm").args(["control", "--reload"]).stdin(Stdio::null()).status();
}

/// Puts a file in place at once.
fn put(path: &Path, text: &str) -> Result<(), Expected> {
    let failed = |error: io::Error| cannot("write", &path.display().to_string(), &error);
    let part: PathBuf = path.with_extension("nearside-part");
    let mut options = fs::OpenOptions::new();
    let mut file =
        options.write(true).create(true).truncate(true).mode(0o644).open(&part).map_err(failed)?;
    io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    fs::rename(&part, path).map_err(failed)
}

fn cannot(what: &str, path: &str, error: &io::Error) -> Expected {
    Expected::precondition(format!("cannot {what} {path}: {error}"), "look at the file system")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_from_the_top() {
        let here = std::env::current_dir().unwrap().join("db.toml").display().to_string();
        let words = ["--profile", "db.toml", "--only", "db.toml", "--profile=db.toml"];
        let expected = ["--profile", &here, "--only", "db.toml", &format!("--profile={here}")];
        assert_eq!(absolute(words.map(str::to_owned).into_iter()), expected);
    }

    #[test]
    fn words_of_a_unit_are_quoted_as_systemd_reads_them() {
        for (word, text) in [
            ("--set", "--set"),
            ("nic-rx-ring=4096@eth0", "nic-rx-ring=4096@eth0"),
            ("a b", "\"a b\""),
            ("50%", "50%%"),
            ("$HOME", "$$HOME"),
            ("say \"x\\\"", "\"say \\\"x\\\\\\\"\""),
            ("", "\"\""),
            ("x;y", "\"x;y\""),
        ] {
            assert_eq!(quoted(word), text);
        }
    }
}
