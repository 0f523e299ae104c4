// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual machines to learn and test with: `list`, `build`, `boot`, `capture`.

#![expect(clippy::print_stderr, reason = "what a command in the guest says is told apart")]

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Subcommand;
use lab::{Console, Guest, Init, Kernel, Lab, Machine, Options};

/// What is done with the lab.
#[derive(Subcommand)]
pub(crate) enum Chore {
    /// The machines that there are.
    List,
    /// Builds kernels and guest images from Debian's packages into `target/lab`.
    Build,
    /// Starts a machine with our binary in it: a shell, or one command.
    Boot {
        /// A name from `list`, or a TOML file.
        machine: String,
        /// Debian's kernel: 6.1 or 6.12.
        #[arg(long, default_value = "6.1")]
        kernel: Kernel,
        /// With systemd and udev instead of a script.
        #[arg(long)]
        systemd: bool,
        /// The command and its arguments; a shell where there is none.
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// Saves what our binary and other tools say in a machine.
    Capture {
        /// A name from `list`, or a TOML file.
        machine: String,
        /// Debian's kernel: 6.1 or 6.12.
        #[arg(long, default_value = "6.1")]
        kernel: Kernel,
        /// The folder; `target/lab/captures/MACHINE-KERNEL` otherwise.
        #[arg(long)]
        to: Option<PathBuf>,
    },
}

pub(crate) fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::List => list(),
        Chore::Build => build().map(drop),
        Chore::Boot { machine, kernel, systemd, command } => {
            let init = if systemd { Init::Systemd } else { Init::Script };
            boot(&machine, kernel, init, &command)
        }
        Chore::Capture { machine, kernel, to } => capture(&machine, kernel, to),
    }
}

fn list() -> Result<()> {
    for name in ::lab::machine::names()? {
        println!("{name:20} {}", Machine::named(&name)?.about);
    }
    Ok(())
}

fn build() -> Result<Lab> {
    let begun = std::time::Instant::now();
    let lab = Lab::build(|step| println!("{:4.0} s  {step}", begun.elapsed().as_secs_f64()))?;
    Ok(lab)
}

/// A guest with our binary in its PATH.
fn start(machine: &str, kernel: Kernel, options: Options) -> Result<Guest> {
    let machine = Machine::named(machine)?;
    let images = build()?;
    let binary = ::lab::nearside()?;
    eprintln!("starting {}: {}", machine.name, machine.about);
    let mut guest = images.boot_with(&machine, kernel, options)?;
    guest.put(&binary, "/usr/local/bin/nearside")?;
    Ok(guest)
}

fn boot(machine: &str, kernel: Kernel, init: Init, command: &[String]) -> Result<()> {
    let options = Options::default().init(init);
    if command.is_empty() {
        return shell(start(machine, kernel, options.console(Console::Terminal))?);
    }
    one(start(machine, kernel, options)?, command)
}

fn shell(mut guest: Guest) -> Result<()> {
    eprintln!("\rnearside is in the PATH; `exit` ends the machine\r");
    guest.wait_for_shell()?;
    guest.off()?;
    Ok(())
}

fn one(mut guest: Guest, command: &[String]) -> Result<()> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let output = guest.call(&words)?;
    print!("{}", output.stdout);
    eprint!("{}", output.stderr);
    eprintln!(
        "up after {:.1} s, {:.1} s of CPU in all, status {}",
        guest.boot_time().as_secs_f64(),
        guest.cpu_seconds(),
        output.status
    );
    ensure!(output.status == 0, "{} ended with {}", words.join(" "), output.status);
    guest.off()?;
    Ok(())
}

/// What is saved: a file's name and the command that prints it.
const SAY: [(&str, &str); 12] = [
    ("lspci-vvv.txt", "lspci -vvv -D"),
    ("lscpu.txt", "lscpu"),
    ("lscpu-e.txt", "lscpu -e"),
    ("numactl.txt", "numactl -H"),
    ("lstopo.xml", "lstopo-no-graphics --of xml --whole-io -"),
    ("ip-link.json", "ip -details -json link"),
    ("nvme-list.json", "nvme list -v -o json"),
    ("lsblk.json", "lsblk -O -J"),
    ("interrupts.txt", "cat /proc/interrupts"),
    ("dmesg.txt", "dmesg"),
    ("topology.json", "nearside topology --json"),
    ("topology.txt", "nearside topology"),
];

fn capture(machine: &str, kernel: Kernel, to: Option<PathBuf>) -> Result<()> {
    let own = || format!("target/lab/captures/{machine}-{kernel}").into();
    let to = to.unwrap_or_else(own);
    std::fs::create_dir_all(&to).with_context(|| to.display().to_string())?;
    let mut guest = start(machine, kernel, Options::default())?;
    guest.run("nearside capture --output /tmp/machine.nearside")?.ok()?;
    guest.get("/tmp/machine.nearside", &to.join("machine.nearside"))?;
    for (file, command) in SAY {
        let output = guest.run(command)?;
        save(&to.join(file), &output.stdout)?;
    }
    guest.off()?;
    println!("{}", to.display());
    Ok(())
}

fn save(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).with_context(|| file.display().to_string())
}
