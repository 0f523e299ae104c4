// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps a wish over boots and hot-plug: a unit, a udev rule and a path unit between the two, and a
//! capture of the machine for which it was right; where asked for, a timer that looks whether it holds.
//!
//! Not the values are kept: at each boot devices are found again by what they are, and the plan is
//! made afresh. Where the topology is another one nothing is changed, since a placement that was
//! right for one numbering is wrong for the next.
//!
//! A device that comes while the unit runs must not be lost: systemd merges a start into one that is
//! under way. So the rule leaves a mark, the unit takes it away before it looks at the machine, and
//! the path unit looks for it again whenever the unit has ended (systemd.path(5)).

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use machine::Machine;
use root::{About, LiveRoot, OpenError, Overwrite, Recorder};
use rustix::io::Errno;

use super::{replace, sweep, systemd};

const UNIT: &str = "/etc/systemd/system/nearside.service";
const PATH_UNIT: &str = "/etc/systemd/system/nearside.path";
const VERIFY_UNIT: &str = "/etc/systemd/system/nearside-verify.service";
const TIMER_UNIT: &str = "/etc/systemd/system/nearside-verify.timer";
const RULES: &str = "/etc/udev/rules.d/90-nearside.rules";
/// The machine for which the wish was right.
const MACHINE: &str = "/var/lib/nearside/persisted.tar.zst";
/// Where the rule says that a device came. A reboot takes it away.
const MARK: &str = "/run/nearside-device-came";
const SERVICE: &str = "nearside.service";
const PATH: &str = "nearside.path";
const VERIFY: &str = "nearside-verify.service";
const TIMER: &str = "nearside-verify.timer";
const HEAD: &str = "# Written by `nearside persist`; `nearside persist --remove` takes it away.\n";

/// All that may lie anywhere.
const OURS: [&str; 7] = [UNIT, PATH_UNIT, VERIFY_UNIT, TIMER_UNIT, RULES, MACHINE, MARK];

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
    control(&["enable", "--quiet", SERVICE, PATH])?;
    control(&["restart", PATH])?;
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
    let there = take_away(&OURS)?;
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
    let file = |(path, text): &(&str, String)| {
        let end = delimiter(text);
        format!("cat > {path} <<'{end}'\n{text}{end}\n")
    };
    let files = files(wish)?.iter().map(file).collect::<String>();
    let timer = match wish.verify_every {
        Some(_) => format!("systemctl enable {TIMER}\nsystemctl restart {TIMER}\n"),
        None => String::new(),
    };
    Ok(format!(
        "#!/bin/sh\nset -e\n{files}systemctl daemon-reload\nsystemctl enable {SERVICE} {PATH}\n\
         systemctl restart {PATH}\n{timer}udevadm control --reload\n"
    ))
}

/// A line that a text does not have, by which a here-document ends.
fn delimiter(text: &str) -> String {
    let mut end = "END".to_owned();
    while text.lines().any(|line| line == end) {
        end.push('_');
    }
    end
}

/// What [`remove`] would do, as a shell script.
pub fn remove_script() -> String {
    let there = present(&OURS);
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

/// The machine as it was when the wish was kept.
///
/// # Errors
/// It cannot be read.
pub fn kept_machine() -> Result<Machine, OpenError> {
    let kept = root::open(Path::new(MACHINE), None)?;
    Ok(linux::read(&*kept.root))
}

fn present(paths: &[&'static str]) -> Vec<&'static str> {
    paths.iter().copied().filter(|path| Path::new(path).exists()).collect()
}

/// Ends the units among some files, removes those that are there, and says which were.
fn take_away(paths: &[&'static str]) -> io::Result<Vec<&'static str>> {
    let there = present(paths);
    // Of a run that was killed.
    paths.iter().for_each(|path| sweep(Path::new(path)));
    for words in orders_to_end(&there) {
        match control(&words) {
            Err(error) if !words.contains(&"reset-failed") => return Err(error),
            // What has not failed has no such state.
            _ => {}
        }
    }
    for path in &there {
        match replace(Path::new(path), None) {
            // A unit that just began took the mark away.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(named(path, &error));
            }
            _ => {}
        }
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
    if paths.contains(&PATH_UNIT) {
        orders.push(vec!["disable", "--quiet", "--now", PATH]);
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
    let mut files =
        vec![(UNIT, unit(&program, &wish.words)), (PATH_UNIT, path_unit()), (RULES, rules())];
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

/// Starts the unit for a mark, and again where one was left while it ran.
fn path_unit() -> String {
    format!(
        "{HEAD}[Unit]\n\
         Description=nearside: waits for devices that come\n\
         Documentation=man:nearside-persist(1)\n\
         \n\
         [Path]\n\
         PathExists={MARK}\n\
         \n\
         [Install]\n\
         WantedBy=paths.target\n"
    )
}

/// The unit. `After=` names what is known to write the same values, so that ours come last. A shelf of
/// drives may come one by one: starts are not counted, each takes away the mark that it is for.
fn unit(program: &Path, words: &[String]) -> String {
    let words = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let program = quoted(&program.display().to_string());
    format!(
        "{HEAD}[Unit]\n\
         Description=nearside: changes kept over boots\n\
         Documentation=man:nearside-persist(1)\n\
         After=local-fs.target systemd-sysctl.service systemd-modules-load.service\n\
         After=network.target tuned.service irqbalance.service power-profiles-daemon.service\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         ExecStartPre=/bin/rm -f {MARK}\n\
         ExecStart={program} apply --persisted --keep-going {words}\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

/// A word of a unit file: `%` and `$` are doubled, the rest is quoted, and what would end a line or
/// steer a terminal is told by its number (systemd.syntax(7)).
fn quoted(word: &str) -> String {
    let word = word.replace('%', "%%").replace('$', "$$");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=@:,./%$".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word;
    }
    let mut quoted = String::with_capacity(word.len() + 2);
    for c in word.chars() {
        match c {
            '\\' | '"' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    quoted.push_str(&format!("\\x{byte:02x}"));
                }
            }
            c => quoted.push(c),
        }
    }
    format!("\"{quoted}\"")
}

/// A device that comes, or gets its name, leaves the mark. What stands as wished is not written again.
/// That an interface was only opened again, or its driver reset, is told by no event of the kernel.
/// Of interfaces without hardware those count that a wish may be for; the pairs that containers come
/// and go with (veth, without a `DEVTYPE`) do not.
fn rules() -> String {
    let rule = |what: &str| format!("{what}, RUN+=\"/bin/touch {MARK}\"\n");
    let of_net = |which: &str| rule(&format!("ACTION==\"add|move\", SUBSYSTEM==\"net\", {which}"));
    let nic = [
        of_net("DEVPATH!=\"/devices/virtual/*\""),
        of_net("DEVPATH==\"/devices/virtual/*\", ENV{DEVTYPE}==\"bond|bridge|vlan\""),
    ]
    .concat();
    let disk = rule("ACTION==\"add\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\"");
    format!("{HEAD}{nic}{disk}")
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
            ("a\nExecStartPost=/bin/x", "\"a\\x0aExecStartPost=/bin/x\""),
            ("\u{1b}[0m\t\u{85}", "\"\\x1b[0m\\x09\\xc2\\x85\""),
        ] {
            assert_eq!(quoted(word), text);
        }
    }

    /// The text of a file is never a line of the script.
    #[test]
    fn a_word_does_not_leave_the_here_document() {
        assert_eq!(delimiter("a\nEND\nEND_\nb\n"), "END__");
        assert_eq!(delimiter("an END\n"), "END");
        let words = vec!["--profile=/x\nEND\necho INJECTED\ncat <<'END'\n".to_owned()];
        let script = install_script(&Wish { words, verify_every: None }).unwrap();
        assert!(!script.lines().any(|line| line.starts_with("echo")), "{script}");
    }

    #[test]
    fn the_unit_calls_this_program_with_the_wish() {
        let words = ["--goal", "latency", "--profile", "/a b.toml"].map(str::to_owned);
        let unit = unit(Path::new("/usr/bin/nearside"), &words);
        let line = "ExecStart=/usr/bin/nearside apply --persisted --keep-going --goal latency \
                    --profile \"/a b.toml\"\n";
        assert!(unit.contains(line), "{unit}");
    }

    /// The rule, the path unit and the unit mean the same mark; it goes before the machine is read.
    #[test]
    fn a_device_that_comes_starts_the_unit_however_many_came_before() {
        let rules = rules();
        assert_eq!(rules.matches(&format!("RUN+=\"/bin/touch {MARK}\"\n")).count(), 3, "{rules}");
        let of_net = rules.lines().filter(|line| line.contains("SUBSYSTEM==\"net\""));
        assert!(of_net.clone().all(|line| line.contains("DEVPATH")), "veth starts it: {rules}");
        assert!(path_unit().contains(&format!("\nPathExists={MARK}\n")));
        let unit = unit(Path::new("/usr/bin/nearside"), &[]);
        let taken = unit.find(&format!("ExecStartPre=/bin/rm -f {MARK}\n")).unwrap();
        assert!(taken < unit.find("ExecStart=").unwrap(), "{unit}");
        let (limit, service) = (unit.find("StartLimitIntervalSec=0"), unit.find("[Service]"));
        assert!(limit.is_some() && limit < service, "{unit}");
    }

    #[test]
    fn a_timer_comes_with_a_period_only() {
        let wish = |verify_every| Wish { words: Vec::new(), verify_every };
        assert_eq!(files(&wish(None)).unwrap().len(), 3);
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
    fn what_runs_ends_before_its_file_goes() {
        let ends = orders_to_end(&OURS);
        for runs in [TIMER, PATH] {
            assert!(ends.contains(&vec!["disable", "--quiet", "--now", runs]), "{ends:?}");
        }
        let place = |words: &[&str]| ends.iter().position(|order| order == words);
        let stop = place(&["stop", VERIFY]);
        assert!(stop.is_some() && stop < place(&["reset-failed", VERIFY]), "{ends:?}");
        assert_eq!(orders_to_end(&[RULES, MACHINE]), Vec::<Vec<&str>>::new());
    }
}
