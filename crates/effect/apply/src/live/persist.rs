// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps a wish over boots, hot-plug and re-opened devices: a unit, a udev rule, and a capture of
//! the machine for which it was right; where asked for, a timer that looks whether it holds.
//!
//! Not the values are kept: at each boot devices are found again by what they are, and the plan is
//! made afresh. Where the topology is another one nothing is changed, since a placement that was
//! right for one numbering is wrong for the next.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use machine::{Difference, Machine};
use root::{About, LiveRoot, OpenError, Overwrite, Recorder};
use rustix::io::Errno;

use super::{replace, systemd};

const UNIT: &str = "/etc/systemd/system/nearside.service";
const VERIFY_UNIT: &str = "/etc/systemd/system/nearside-verify.service";
const TIMER_UNIT: &str = "/etc/systemd/system/nearside-verify.timer";
const RULES: &str = "/etc/udev/rules.d/90-nearside.rules";
/// The machine for which the wish was right.
const MACHINE: &str = "/var/lib/nearside/persisted.tar.zst";
const SERVICE: &str = "nearside.service";
const VERIFY: &str = "nearside-verify.service";
const TIMER: &str = "nearside-verify.timer";
const HEAD: &str = "# Written by `nearside persist`; `nearside persist --remove` takes it away.\n";

/// What is kept over boots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The words of an `apply` by this program.
    pub words: Vec<String>,
    /// How often it is looked whether what was applied holds, to the second; none for never.
    pub verify_every: Option<Duration>,
}

/// Whether systemd runs, without which nothing can be kept.
pub fn is_possible() -> bool {
    systemd::is_booted()
}

/// Keeps a wish. `about` stands in the kept capture.
///
/// # Errors
/// A file cannot be written, or systemd refuses.
pub fn install(kernel: &LiveRoot, wish: &Wish, about: &About) -> io::Result<()> {
    keep_machine(kernel, about)?;
    if wish.verify_every.is_none() {
        // That of an earlier wish.
        take_away(&[TIMER_UNIT, VERIFY_UNIT])?;
    }
    for (path, text) in files(wish)? {
        replace(Path::new(path), Some(text.as_bytes())).map_err(|error| named(path, &error))?;
    }
    control(&["daemon-reload"])?;
    control(&["enable", "--quiet", SERVICE])?;
    if wish.verify_every.is_some() {
        control(&["enable", "--quiet", TIMER])?;
        // One that runs takes its new period at a restart only.
        control(&["restart", TIMER])?;
    }
    reload_rules();
    Ok(())
}

/// Takes away all that was put there, and says what that was.
///
/// # Errors
/// A file cannot be removed, or systemd refuses.
pub fn remove() -> io::Result<Vec<&'static str>> {
    let there = take_away(&[UNIT, VERIFY_UNIT, TIMER_UNIT, RULES, MACHINE])?;
    if !there.is_empty() {
        control(&["daemon-reload"])?;
        reload_rules();
    }
    Ok(there)
}

/// What [`install`] would do, as a shell script; the capture is made by it alone.
///
/// # Errors
/// This program's own path is not known.
pub fn install_script(wish: &Wish) -> io::Result<String> {
    let file = |(path, text): &(&str, String)| format!("cat > {path} <<'END'\n{text}END\n");
    let files = files(wish)?.iter().map(file).collect::<String>();
    let timer = match wish.verify_every {
        Some(_) => format!("systemctl enable {TIMER}\nsystemctl restart {TIMER}\n"),
        None => String::new(),
    };
    Ok(format!(
        "#!/bin/sh\nset -e\n{files}systemctl daemon-reload\nsystemctl enable {SERVICE}\n{timer}udevadm \
         control --reload\n"
    ))
}

/// What [`remove`] would do, as a shell script.
pub fn remove_script() -> String {
    let there = present(&[UNIT, VERIFY_UNIT, TIMER_UNIT, RULES, MACHINE]);
    if there.is_empty() {
        return "#!/bin/sh\n# Nothing is kept over boots.\n".to_owned();
    }
    let ends = orders_to_end(&there).into_iter().map(|words| {
        let may_fail = if words.contains(&"reset-failed") { " 2>/dev/null || true" } else { "" };
        format!("systemctl {}{may_fail}\n", words.join(" "))
    });
    let lines = there.iter().map(|path| format!("rm {path}\n"));
    let lines: String = ends.chain(lines).collect();
    format!("#!/bin/sh\nset -e\n{lines}systemctl daemon-reload\nudevadm control --reload\n")
}

/// What of the topology is not as it was when the wish was kept.
///
/// # Errors
/// The kept machine cannot be read.
pub fn moved(now: &Machine) -> Result<Vec<Difference>, OpenError> {
    let kept = root::open(Path::new(MACHINE), None)?;
    let then = linux::read(&*kept.root);
    Ok(then.moved(now))
}

fn present(paths: &[&'static str]) -> Vec<&'static str> {
    paths.iter().copied().filter(|path| Path::new(path).exists()).collect()
}

/// Ends the units among some files, removes those that are there, and says which were.
fn take_away(paths: &[&'static str]) -> io::Result<Vec<&'static str>> {
    let there = present(paths);
    for words in orders_to_end(&there) {
        match control(&words) {
            Err(error) if !words.contains(&"reset-failed") => return Err(error),
            // What has not failed has no such state.
            _ => {}
        }
    }
    for path in &there {
        replace(Path::new(path), None).map_err(|error| named(path, &error))?;
    }
    Ok(there)
}

/// What systemd has to be told before files are removed: a failed unit stays listed without.
fn orders_to_end(paths: &[&str]) -> Vec<Vec<&'static str>> {
    let mut orders = Vec::new();
    if paths.contains(&TIMER_UNIT) {
        orders.push(vec!["disable", "--quiet", "--now", TIMER]);
    }
    if paths.contains(&VERIFY_UNIT) {
        // One that looks just now would fail afterwards.
        orders.push(vec!["stop", VERIFY]);
        orders.push(vec!["reset-failed", VERIFY]);
    }
    if paths.contains(&UNIT) {
        orders.push(vec!["disable", "--quiet", SERVICE]);
        orders.push(vec!["reset-failed", SERVICE]);
    }
    orders
}

/// Saves the machine as it is now. It stays here, so nothing in it is replaced.
fn keep_machine(kernel: &LiveRoot, about: &About) -> io::Result<()> {
    let recorder = Recorder::new(kernel);
    linux::read(&recorder);
    let path = Path::new(MACHINE);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| named(MACHINE, &error))?;
    }
    let saved = recorder.into_record().save(path, about, None, Overwrite::Replace);
    saved.map(drop).map_err(|error| named(MACHINE, &error))
}

fn files(wish: &Wish) -> io::Result<Vec<(&'static str, String)>> {
    let program = std::env::current_exe()?;
    let mut files = vec![(UNIT, unit(&program, &wish.words)), (RULES, rules())];
    if let Some(every) = wish.verify_every {
        files.push((VERIFY_UNIT, verify_unit(&program)));
        files.push((TIMER_UNIT, timer(every)));
    }
    Ok(files)
}

/// What looks once. Its code 3, for drift, makes it a failed unit, which every monitor shows; what
/// does not hold stands in the journal.
fn verify_unit(program: &Path) -> String {
    let program = quoted(&program.display().to_string());
    format!(
        "{HEAD}[Unit]\n\
         Description=nearside: whether what was changed still holds\n\
         Documentation=man:nearside-verify(1)\n\
         After={SERVICE}\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         ExecStart={program} verify\n"
    )
}

fn timer(every: Duration) -> String {
    let seconds = every.as_secs();
    format!(
        "{HEAD}[Unit]\n\
         Description=nearside: looks every {seconds} s whether what was changed still holds\n\
         Documentation=man:nearside-persist(1)\n\
         \n\
         [Timer]\n\
         OnActiveSec={seconds}s\n\
         OnUnitActiveSec={seconds}s\n\
         AccuracySec=1s\n\
         \n\
         [Install]\n\
         WantedBy=timers.target\n"
    )
}

/// The unit. `After=` names what is known to write the same values, so that ours come last.
fn unit(program: &Path, words: &[String]) -> String {
    let words = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let program = quoted(&program.display().to_string());
    format!(
        "{HEAD}[Unit]\n\
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
    let rule = |action: &str, subsystem: &str| {
        format!(
            "ACTION==\"{action}\", SUBSYSTEM==\"{subsystem}\", \
             RUN+=\"/bin/systemctl --no-block start {SERVICE}\"\n"
        )
    };
    let disk = rule("add", "block").replace(", RUN", ", ENV{DEVTYPE}==\"disk\", RUN");
    format!("{HEAD}{}{disk}", rule("add|online|move", "net"))
}

fn control(arguments: &[&str]) -> io::Result<()> {
    let refused =
        |why: String| io::Error::other(format!("systemctl {}: {why}", arguments.join(" ")));
    match systemd::control(arguments) {
        Ok(0) => Ok(()),
        Ok(code) => Err(refused(format!("it answers {code}"))),
        Err(Errno::OPNOTSUPP) => Err(refused("systemd does not run here".to_owned())),
        Err(errno) => Err(refused(errno.to_string())),
    }
}

/// udev reads its rules again by itself where it is not told.
fn reload_rules() {
    let _ = Command::new("udevadm").args(["control", "--reload"]).stdin(Stdio::null()).status();
}

fn named(path: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn the_unit_calls_this_program_with_the_wish() {
        let words = ["--goal", "latency", "--profile", "/a b.toml"].map(str::to_owned);
        let unit = unit(Path::new("/usr/bin/nearside"), &words);
        let line = "ExecStart=/usr/bin/nearside apply --persisted --keep-going --goal latency \
                    --profile \"/a b.toml\"\n";
        assert!(unit.contains(line), "{unit}");
        let rules = rules();
        assert_eq!(rules.matches("start nearside.service").count(), 2, "{rules}");
        assert!(rules.contains("ENV{DEVTYPE}==\"disk\", RUN+="), "{rules}");
    }

    #[test]
    fn a_timer_comes_with_a_period_only() {
        let wish = |verify_every| Wish { words: Vec::new(), verify_every };
        assert_eq!(files(&wish(None)).unwrap().len(), 2);
        let script = install_script(&wish(Some(Duration::from_secs(300)))).unwrap();
        for line in [
            "cat > /etc/systemd/system/nearside-verify.timer <<'END'\n",
            "OnUnitActiveSec=300s\n",
            " verify\n",
            "systemctl restart nearside-verify.timer\n",
        ] {
            assert!(script.contains(line), "{line}: {script}");
        }
    }

    #[test]
    fn a_timer_ends_before_its_file_goes() {
        let ends = orders_to_end(&[UNIT, TIMER_UNIT, VERIFY_UNIT]);
        assert_eq!(ends.first(), Some(&vec!["disable", "--quiet", "--now", TIMER]));
        let place = |words: &[&str]| ends.iter().position(|order| order == words);
        let stop = place(&["stop", VERIFY]);
        assert!(stop.is_some() && stop < place(&["reset-failed", VERIFY]), "{ends:?}");
        assert_eq!(orders_to_end(&[RULES, MACHINE]), Vec::<Vec<&str>>::new());
    }
}
