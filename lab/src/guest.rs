// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guest that runs: programs in it, power, plugs, throttles.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::agent::{Agent, Heard};
use crate::drives::Drives;
use crate::error::{At, Error, Result};
use crate::image::{Kernel, Lab};
use crate::machine::{Device, Kind, Link, Machine};
use crate::options::{Console, Init, Options};
use crate::qemu::{self, Arguments, Qmp};
use crate::{acpi, cpio, process};

/// What a script in the guest said.
#[derive(Debug, Clone)]
pub struct Output {
    /// Its exit status; above 128 the signal that ended it, and 128.
    pub status: i32,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    command: String,
}

impl Output {
    /// What it printed, where its status is 0.
    ///
    /// # Errors
    /// It is another.
    pub fn ok(self) -> Result<String> {
        if self.status == 0 {
            return Ok(self.stdout);
        }
        let stderr = process::tail(&format!("{}\n{}", self.stdout, self.stderr), 20);
        Err(Error::Command { command: self.command, status: self.status, stderr })
    }
}

/// A script that was started in the guest.
#[derive(Debug)]
pub struct Task {
    id: String,
    command: String,
}

/// A virtual machine that is on. It ends when this is dropped; its folder stays where something
/// failed.
#[derive(Debug)]
pub struct Guest {
    qemu: Child,
    qmp: Qmp,
    agent: Agent,
    machine: Machine,
    drives: Option<Drives>,
    folder: Option<TempDir>,
    started: Instant,
    boot_time: Duration,
    /// What a boot may take.
    patience: Duration,
    tasks: u32,
}

/// What the guest runs, in `/lab`.
const SCRIPTS: [(&str, &str); 6] = [
    ("start", include_str!("../guest/start")),
    ("devices", include_str!("../guest/devices")),
    ("agent", include_str!("../guest/agent")),
    ("lab.target", include_str!("../guest/lab.target")),
    ("lab-devices.service", include_str!("../guest/lab-devices.service")),
    ("lab-agent.service", include_str!("../guest/lab-agent.service")),
];

/// What a boot takes on two quiet cores is 8 to 40 s, and six times that beside other work.
const BOOT_PATIENCE: Duration = Duration::from_secs(300);
/// Boots that are tried before a machine counts as one that does not come up.
const BOOTS: u32 = 3;
const SCRIPT_PATIENCE: Duration = Duration::from_secs(300);
const PANIC: &str = "Kernel panic";
/// `lab/guest/init` gives up.
const NO_ROOT: &str = "lab: no root file system";
/// How often it is looked whether QEMU still runs and the kernel has not panicked.
const LOOK: Duration = Duration::from_millis(500);

impl Lab {
    /// Starts a guest with new, empty drives and waits until it takes commands.
    ///
    /// # Errors
    /// QEMU does not start, or the guest does not come up; its log is named.
    pub fn boot(&self, machine: &Machine, kernel: Kernel) -> Result<Guest> {
        self.boot_with(machine, kernel, Options::default())
    }

    /// Starts a guest and waits until it takes commands.
    ///
    /// # Errors
    /// As [`Lab::boot`].
    pub fn boot_with(&self, machine: &Machine, kernel: Kernel, options: Options) -> Result<Guest> {
        let mut options = options;
        let mut drives = options.drives.take().map_or_else(Drives::new, Ok)?;
        let mut boots = 1;
        loop {
            let mut guest = self.start(machine, kernel, drives, &options)?;
            match guest.come_up() {
                Ok(()) => return Ok(guest),
                // Under emulation a boot sometimes hangs before anything of ours runs. A machine
                // that never comes up is told at the last of these.
                Err(Error::Guest { .. }) if boots < BOOTS => drives = guest.cut_power()?,
                Err(error) => return Err(error),
            }
            boots += 1;
        }
    }

    /// Starts QEMU, which stands still then.
    fn start(
        &self,
        machine: &Machine,
        kernel: Kernel,
        drives: Drives,
        options: &Options,
    ) -> Result<Guest> {
        // A socket's path has 107 bytes at most: not below the images.
        let folder = tempfile::Builder::new().prefix("nearside-lab-").tempdir().at("guest")?;
        std::fs::create_dir(folder.path().join("share")).at(folder.path())?;
        std::fs::write(folder.path().join("initrd"), self.initrd(machine, kernel)?)
            .at(folder.path())?;
        let arguments = Arguments {
            lab: self,
            machine,
            kernel,
            drives: &drives,
            folder: folder.path(),
            options,
        };
        let qemu = spawn(&arguments.list()?, folder.path(), options.console)?;
        let mut guest = Guest::connect(qemu, machine.clone(), folder, drives)?;
        // A boot of systemd takes three times the CPU time.
        guest.patience = BOOT_PATIENCE * if options.init == Init::Systemd { 2 } else { 1 };
        Ok(guest)
    }

    /// Tables first, uncompressed; then busybox and modules; then our scripts.
    fn initrd(&self, machine: &Machine, kernel: Kernel) -> Result<Vec<u8>> {
        let mut scripts = cpio::Archive::new();
        scripts.folder("lab");
        scripts.file("init", 0o755, include_bytes!("../guest/init"));
        for (name, content) in SCRIPTS {
            scripts.file(&format!("lab/{name}"), 0o644, content.as_bytes());
        }
        let modules = self.initramfs(kernel);
        let mut initrd = acpi::archive(machine).unwrap_or_default();
        initrd.extend(scripts.finish());
        initrd.extend(std::fs::read(&modules).at(&modules)?);
        Ok(initrd)
    }
}

fn spawn(arguments: &[String], folder: &Path, console: Console) -> Result<Child> {
    let log = folder.join("qemu.txt");
    let said = std::fs::File::create(&log).at(&log)?;
    std::fs::write(folder.join("command.txt"), arguments.join("\n")).at(folder)?;
    // QEMU ends with the thread that started it, also where that is killed.
    let mut qemu = Command::new("setpriv");
    qemu.args(["--pdeathsig", "KILL", "--", "qemu-system-x86_64"]);
    qemu.args(arguments).stderr(said);
    if console == Console::Log {
        qemu.stdin(Stdio::null()).stdout(Stdio::null());
    }
    qemu.spawn().at("qemu-system-x86_64")
}

impl Guest {
    /// Takes hold of a QEMU that has just been started and stands still.
    fn connect(mut qemu: Child, machine: Machine, folder: TempDir, drives: Drives) -> Result<Self> {
        let sockets = || -> Result<(Qmp, Agent)> {
            let qmp = folder.path().join("qmp");
            let qmp = Qmp::new(&qmp, reach(&qmp, &mut qemu)?)?;
            let port = folder.path().join("port");
            let agent = Agent::new(reach(&port, &mut qemu)?).at(&port)?;
            Ok((qmp, agent))
        };
        let mut sockets = sockets;
        match sockets() {
            Ok((qmp, agent)) => Ok(Self {
                qemu,
                qmp,
                agent,
                machine,
                drives: Some(drives),
                folder: Some(folder),
                started: Instant::now(),
                boot_time: Duration::ZERO,
                patience: BOOT_PATIENCE,
                tasks: 0,
            }),
            Err(error) => {
                // It never ran, so that it can be ended without asking.
                drop(qemu.kill());
                let said = std::fs::read_to_string(folder.path().join("qemu.txt"));
                let stderr = process::tail(&said.unwrap_or_default(), 12);
                let status = qemu.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
                if stderr.is_empty() {
                    return Err(error);
                }
                Err(Error::Program { program: "qemu-system-x86_64".to_owned(), status, stderr })
            }
        }
    }

    /// Lets it run, and waits until it takes commands.
    fn come_up(&mut self) -> Result<()> {
        for device in self.machine.devices() {
            if let Kind::Drive(drive) = &device.kind
                && let Some(iops) = drive.iops
            {
                self.throttle(&device.id, iops)?;
            }
        }
        let machine = self.machine.clone();
        if let Err(error) = qemu::write_registers(&mut self.qmp, self.qemu.id(), &machine) {
            self.keep();
            return Err(error);
        }
        self.qmp.call("cont", &json!({}))?;
        self.wait("no boot", self.patience, |agent| agent.boot().is_some().then_some(()))?;
        self.boot_time = self.started.elapsed();
        Ok(())
    }

    /// Runs a shell script in the guest and waits for its end, up to five minutes.
    ///
    /// # Errors
    /// The guest dies, or takes longer. That the script fails is no error.
    pub fn run(&mut self, script: &str) -> Result<Output> {
        self.run_for(script, SCRIPT_PATIENCE)
    }

    /// As [`Guest::run`], with another patience.
    ///
    /// # Errors
    /// As [`Guest::run`].
    pub fn run_for(&mut self, script: &str, patience: Duration) -> Result<Output> {
        let task = self.begin(script)?;
        self.finish(&task, patience)
    }

    /// Runs a program with its arguments, as they are, in the guest.
    ///
    /// # Errors
    /// As [`Guest::run`].
    pub fn call(&mut self, words: &[&str]) -> Result<Output> {
        let quoted = |word: &&str| format!("'{}'", word.replace('\'', r"'\''"));
        self.run(&words.iter().map(quoted).collect::<Vec<_>>().join(" "))
    }

    /// Starts a shell script in the guest.
    ///
    /// # Errors
    /// The guest's port or share is gone.
    pub fn begin(&mut self, script: &str) -> Result<Task> {
        self.tasks += 1;
        let id = format!("task{}", self.tasks);
        let home = self.share(&id);
        std::fs::create_dir(&home).at(&home)?;
        std::fs::write(home.join("script"), format!("{script}\n")).at(&home)?;
        self.agent.say(&format!("run {id}")).at(&home)?;
        let command = script.lines().next().unwrap_or_default().to_owned();
        Ok(Task { id, command })
    }

    /// Waits for the end of a script.
    ///
    /// # Errors
    /// The guest dies, or the patience ends.
    pub fn finish(&mut self, task: &Task, patience: Duration) -> Result<Output> {
        let what = format!("no end of {:?}", task.command);
        let status = self.wait(&what, patience, |agent| agent.status(&task.id))?;
        let home = self.share(&task.id);
        let text = |name: &str| {
            let bytes = std::fs::read(home.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (stdout, stderr) = (text("stdout"), text("stderr"));
        Ok(Output { status, stdout, stderr, command: task.command.clone() })
    }

    /// Whether a script has ended.
    pub fn has_ended(&mut self, task: &Task) -> bool {
        while let Heard::Something = self.agent.hear(Duration::ZERO) {}
        self.agent.status(&task.id).is_some()
    }

    /// Ends a script and what it started with SIGKILL.
    ///
    /// # Errors
    /// The guest's port is gone.
    pub fn kill(&mut self, task: &Task) -> Result<()> {
        self.agent.say(&format!("kill {}", task.id)).at("port")
    }

    /// Copies a file of the host into the guest; it may be executed there if it may be here.
    ///
    /// # Errors
    /// It cannot be read here or written there.
    pub fn put(&mut self, file: &Path, to: &str) -> Result<()> {
        self.tasks += 1;
        let name = format!("file{}", self.tasks);
        std::fs::copy(file, self.share(&name)).at(file)?;
        let folder = to.rsplit_once('/').map_or(".", |(folder, _)| folder);
        let script =
            format!("mkdir -p '{folder}' && cp '/share/{name}' '{to}' && rm '/share/{name}'");
        self.run(&script)?.ok().map(drop)
    }

    /// Copies a file of the guest to the host.
    ///
    /// # Errors
    /// It cannot be read there or written here.
    pub fn get(&mut self, file: &str, to: &Path) -> Result<()> {
        self.tasks += 1;
        let name = format!("file{}", self.tasks);
        self.call(&["cp", file, &format!("/share/{name}")])?.ok()?;
        std::fs::copy(self.share(&name), to).at(to).map(drop)
    }

    /// Restarts the kernel in the same QEMU: memory is lost, drives and root file system stay.
    ///
    /// # Errors
    /// The guest does not come up again.
    pub fn reboot(&mut self) -> Result<()> {
        self.agent.say("reboot").at("port")?;
        self.wait("no reboot", self.patience, |agent| agent.boot().is_some().then_some(()))
    }

    /// Writes everything back, ends the guest and gives its drives.
    ///
    /// # Errors
    /// The guest does not answer.
    pub fn off(mut self) -> Result<Drives> {
        self.agent.say("off").at("port")?;
        self.wait("no power-off", SCRIPT_PATIENCE, |agent| agent.is_off().then_some(()))?;
        self.end()
    }

    /// Ends the guest in the midst of what it does and gives its drives. What its kernel had not
    /// written is lost; what a drive acknowledged is kept.
    ///
    /// # Errors
    /// QEMU cannot be ended.
    pub fn cut_power(mut self) -> Result<Drives> {
        self.end()
    }

    /// Waits until the console's shell ends; without one, until QEMU does.
    ///
    /// # Errors
    /// The guest dies.
    pub fn wait_for_shell(&mut self) -> Result<()> {
        const LONG: Duration = Duration::from_secs(7 * 24 * 3600);
        self.wait("no end of the shell", LONG, |agent| agent.status("shell").map(drop))
    }

    /// Lets a drive do so many requests a second and no more, from now on; 0 is no limit.
    ///
    /// # Errors
    /// There is no such drive.
    pub fn throttle(&mut self, drive: &str, iops: u32) -> Result<()> {
        let none = ["bps", "bps_rd", "bps_wr", "iops_rd", "iops_wr"].map(|key| (key, json!(0)));
        let mut limits = json!({"id": drive, "iops": iops});
        for (key, value) in none {
            limits[key] = value;
        }
        self.qmp.call("block_set_io_throttle", &limits).map(drop)
    }

    /// Lets a device's link train to something else, while the guest runs.
    ///
    /// # Errors
    /// There is no such device, or the machine's file says nothing of its link.
    pub fn retrain(&mut self, device: &str, link: Link) -> Result<()> {
        let mut device = self.device(device)?;
        if device.best_link.is_none() {
            return Err(Error::Registers { device: device.id, found: 0 });
        }
        device.link = Some(link);
        qemu::retrain(&mut self.qmp, self.qemu.id(), &self.machine, &device)
    }

    /// Pulls a removable drive.
    ///
    /// # Errors
    /// It is not removable, or the guest does not let go within the patience of a boot.
    pub fn unplug(&mut self, drive: &str) -> Result<()> {
        self.qmp.call("device_del", &json!({"id": drive}))?;
        let begun = Instant::now();
        let path = json!({"path": format!("/machine/peripheral/{drive}")});
        while self.qmp.call("qom-list", &path).is_ok() {
            if begun.elapsed() > BOOT_PATIENCE {
                return Err(self.failure("no end of an unplugging", begun));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Puts a pulled drive back; its link is QEMU's own then.
    ///
    /// # Errors
    /// QEMU refuses it.
    pub fn plug(&mut self, drive: &str) -> Result<()> {
        let device = self.device(drive)?;
        let words = qemu::plugged(&device).into_iter().map(|(key, value)| (key, json!(value)));
        self.qmp.call("device_add", &words.collect::<serde_json::Map<_, _>>().into()).map(drop)
    }

    /// From the start of QEMU until the guest took commands.
    pub fn boot_time(&self) -> Duration {
        self.boot_time
    }

    /// CPU seconds that QEMU has used.
    pub fn cpu_seconds(&self) -> f64 {
        process::cpu_seconds(self.qemu.id())
    }

    /// The boot's id; another one after each reboot.
    pub fn boot_id(&self) -> &str {
        self.agent.boot().unwrap_or_default()
    }

    /// The machine that the guest sees.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    fn device(&self, id: &str) -> Result<Device> {
        let found = self.machine.devices().into_iter().find(|device| device.id == id);
        let missing = || Error::NoDevice { machine: self.machine.name.clone(), id: id.to_owned() };
        found.ok_or_else(missing)
    }

    fn folder(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new(""), TempDir::path)
    }

    fn share(&self, name: &str) -> PathBuf {
        self.folder().join("share").join(name)
    }

    /// Listens until there is an answer.
    fn wait<T>(
        &mut self,
        what: &str,
        patience: Duration,
        answer: impl Fn(&Agent) -> Option<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        loop {
            if let Some(answer) = answer(&self.agent) {
                return Ok(answer);
            }
            let heard = self.agent.hear(LOOK);
            let trouble = match heard {
                Heard::Something => None,
                Heard::End => Some("QEMU ended"),
                Heard::Nothing if self.qemu.try_wait().is_ok_and(|end| end.is_some()) => {
                    Some("QEMU ended")
                }
                Heard::Nothing if self.log().contains(PANIC) => Some("kernel panic"),
                Heard::Nothing if self.log().contains(NO_ROOT) => Some("no root file system"),
                Heard::Nothing => (begun.elapsed() > patience).then_some(what),
            };
            if let Some(trouble) = trouble {
                return Err(self.failure(trouble, begun));
            }
        }
    }

    fn log(&self) -> String {
        let bytes = std::fs::read(self.folder().join("console.txt")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn failure(&mut self, what: &str, begun: Instant) -> Error {
        let seconds = begun.elapsed().as_secs_f64();
        let cpu_seconds = self.cpu_seconds();
        let tail = [process::tail(&self.log(), 15), self.complaints()].join("\n");
        let log = self.folder().join("console.txt");
        self.keep();
        let end = self.qemu.try_wait().ok().flatten();
        let what = end.map_or(what.to_owned(), |status| format!("{what} ({status})"));
        Error::Guest { what, seconds, cpu_seconds, log, tail }
    }

    /// The end of what QEMU said, less what it says of every model of CPU.
    fn complaints(&self) -> String {
        let said = std::fs::read_to_string(self.folder().join("qemu.txt")).unwrap_or_default();
        let lines = said.lines().filter(|line| !line.contains("TCG doesn't support"));
        process::tail(&lines.collect::<Vec<_>>().join("\n"), 15)
    }

    /// Leaves the guest's folder for a person to look at.
    fn keep(&mut self) {
        if let Some(folder) = &mut self.folder {
            folder.disable_cleanup(true);
        }
    }

    fn end(&mut self) -> Result<Drives> {
        self.qemu.kill().at("QEMU")?;
        self.qemu.wait().at("QEMU")?;
        self.drives.take().map_or_else(Drives::new, Ok)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if thread::panicking() {
            self.keep();
        }
        // It may have ended already; there is nobody to tell.
        drop(self.qemu.kill());
        drop(self.qemu.wait());
    }
}

/// Connects to a socket that QEMU makes soon.
fn reach(path: &Path, qemu: &mut Child) -> Result<UnixStream> {
    const PATIENCE: Duration = Duration::from_secs(60);
    let begun = Instant::now();
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => return Ok(stream),
            Err(error) if begun.elapsed() > PATIENCE => return Err(error).at(path),
            Err(_) if qemu.try_wait().is_ok_and(|end| end.is_some()) => {
                return Err(io::Error::other("QEMU ended")).at(path);
            }
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}
