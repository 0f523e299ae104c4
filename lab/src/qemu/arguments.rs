// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine as QEMU's command line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::drives::Drives;
use crate::error::Result;
use crate::image::{Kernel, Lab};
use crate::machine::{Device, Drive, DriveBus, Kind, Machine, Nic, NicModel, Wiring};
use crate::options::{Console, Init, Options};

/// What the NICs that hang on wires are joined to: QEMU's words by the NIC's id, and the end.
pub(crate) type Ends = BTreeMap<String, (String, u8)>;

/// All that a command line is made of.
pub(crate) struct Arguments<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) machine: &'a Machine,
    pub(crate) kernel: Kernel,
    pub(crate) drives: &'a Drives,
    /// The guest's own folder: sockets, log, share, initrd.
    pub(crate) folder: &'a Path,
    pub(crate) options: &'a Options,
}

/// Of a boot's CPU time, mitigations and the other self-tests are a sixth; what a clock does under
/// TCG would only be complained about.
const COMMAND_LINE: &str = "console=ttyS0 panic=0 quiet loglevel=4 mitigations=off nokaslr \
    cryptomgr.notests audit=0 apparmor=0 nowatchdog random.trust_cpu=on tsc=reliable \
    no_timer_check";

/// One thread for all CPUs of a guest. With a thread each, QEMU 7.2 now and then ends with a null
/// memory region (a CPU writes to a register while another moves a BAR: `iotlb_to_section`), and
/// Linux dies of code that it patches while others run it. A boot costs a third less CPU time, too.
const ACCELERATOR: &str = "tcg,thread=single,tb-size=256";

/// What systemd is told: our own units, names of interfaces as without it, and patience with
/// emulation.
const SYSTEMD: &str = " lab.init=systemd systemd.unit=lab.target net.ifnames=0 \
    systemd.show_status=no systemd.default_timeout_start_sec=600s";

/// Buses from here on belong to the extra root complexes; the ones below to QEMU's own.
const FIRST_BUS: usize = 32;

impl Arguments<'_> {
    pub(crate) fn list(&self) -> Result<Vec<String>> {
        let mut list = self.frame();
        list.extend(self.processors());
        list.extend(self.firmware());
        list.extend(self.own_devices()?);
        let complexes = self.complexes();
        list.extend(complexes.values().flat_map(|words| device(words)));
        for (number, one) in self.machine.devices().iter().enumerate() {
            list.extend(self.attached(number, one)?);
        }
        Ok(list)
    }

    fn frame(&self) -> Vec<String> {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let vtd = self.machine.firmware.vtd;
        let machine = if vtd { "q35,kernel-irqchip=split" } else { "q35" };
        let log = path("console.txt");
        let serial = match self.options.console {
            Console::Log => format!("file,id=console,path={log}"),
            Console::Terminal => format!("stdio,id=console,signal=off,logfile={log}"),
        };
        let initrd = path("initrd");
        let kernel = self.lab.vmlinux(self.kernel).display().to_string();
        let (append, qmp) = (self.append(), format!("unix:{},server=on,wait=off", path("qmp")));
        words(&[
            ("-machine", machine),
            ("-accel", ACCELERATOR),
            ("-display", "none"),
            ("-chardev", &serial),
            ("-serial", "chardev:console"),
            ("-qmp", &qmp),
            ("-kernel", &kernel),
            ("-initrd", &initrd),
            ("-append", &append),
        ])
        .chain(["-nodefaults", "-no-user-config", "-S"].map(str::to_owned))
        .collect()
    }

    fn append(&self) -> String {
        let mut modules = BTreeSet::new();
        for device in self.machine.devices() {
            modules.extend(module(&device.kind));
        }
        if !self.machine.firmware.frequencies_mhz.is_empty() {
            modules.insert("acpi_cpufreq");
        }
        let modules: Vec<_> = modules.into_iter().collect();
        let iommu = if self.machine.firmware.vtd { " intel_iommu=on" } else { "" };
        let shell = if self.options.console == Console::Terminal { " lab.shell=yes" } else { "" };
        let init = if self.options.init == Init::Systemd { SYSTEMD } else { "" };
        format!("{COMMAND_LINE}{iommu}{shell}{init} lab.modules={}", modules.join(","))
    }

    fn processors(&self) -> Vec<String> {
        let (machine, cpus) = (self.machine, &self.machine.cpus);
        let total = cpus.in_place().len();
        let smp = format!(
            "{total},sockets={},dies={},cores={},threads={}",
            cpus.packages, cpus.dies, cpus.cores, cpus.threads
        );
        let memory = format!("{}M", u64::from(machine.memory_mib) * u64::from(machine.nodes()));
        let model = if cpus.bare_metal { ",-hypervisor" } else { "" };
        let model = format!("{}{model}", cpus.model);
        let mut list: Vec<String> =
            words(&[("-cpu", &model), ("-smp", &smp), ("-m", &memory)]).collect();
        for node in 0..machine.nodes() {
            let size = machine.memory_mib;
            list.extend(words(&[
                ("-object", &format!("memory-backend-ram,id=memory{node},size={size}M")),
                ("-numa", &format!("node,nodeid={node},memdev=memory{node}")),
            ]));
        }
        for cpu in cpus.in_place().iter().filter(|cpu| cpu.thread == 0) {
            let die = if cpus.dies > 1 { format!("die-id={},", cpu.die) } else { String::new() };
            let (node, package, core) = (cpu.node, cpu.package, cpu.core);
            list.push("-numa".into());
            list.push(format!("cpu,node-id={node},socket-id={package},{die}core-id={core}"));
        }
        for (from, row) in machine.distances.iter().enumerate() {
            for (to, distance) in row.iter().enumerate().filter(|(to, _)| *to != from) {
                list.push("-numa".into());
                list.push(format!("dist,src={from},dst={to},val={distance}"));
            }
        }
        list
    }

    fn firmware(&self) -> Vec<String> {
        let firmware = &self.machine.firmware;
        let mut list = Vec::new();
        let mut table = |kind: u8, fields: &[(&str, &Option<String>)]| {
            let given = fields.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
            let text: String =
                given.map(|(key, value)| format!(",{key}={}", value.replace(',', ",,"))).collect();
            if !text.is_empty() {
                list.extend(["-smbios".to_owned(), format!("type={kind}{text}")]);
            }
        };
        table(0, &[("vendor", &firmware.vendor), ("version", &firmware.version)]);
        table(1, &[("manufacturer", &firmware.vendor), ("product", &firmware.product)]);
        if firmware.vtd {
            list.extend(["-device".to_owned(), "intel-iommu,intremap=on".to_owned()]);
        }
        list
    }

    /// The disks, the share, the port and the randomness that every guest has, on QEMU's own root
    /// complex, which belongs to no node.
    fn own_devices(&self) -> Result<Vec<String>> {
        let share = self.folder.join("share");
        let root = self.root()?;
        let state = self.drives.state()?;
        let port = self.folder.join("port");
        Ok(words(&[
            ("-drive", &format!("if=none,id=root,format=raw,{root}")),
            ("-device", "virtio-blk-pci,drive=root,num-queues=1,addr=1d"),
            ("-drive", &format!("if=none,id=state,format=raw,file={}", state.display())),
            ("-device", "virtio-blk-pci,drive=state,num-queues=1,addr=1e"),
            ("-fsdev", &format!("local,id=share,security_model=none,path={}", share.display())),
            ("-device", "virtio-9p-pci,fsdev=share,mount_tag=share,addr=1c"),
            ("-chardev", &format!("socket,id=port,server=on,wait=off,path={}", port.display())),
            ("-device", "virtio-serial-pci,addr=1b"),
            ("-device", "virtserialport,chardev=port,name=lab"),
            ("-device", "virtio-rng-pci,addr=1a"),
        ])
        .collect())
    }

    /// The root file system: what is written to it is forgotten, or goes with the drives.
    fn root(&self) -> Result<String> {
        let image = self.lab.root();
        Ok(match self.options.init {
            Init::Script => format!("snapshot=on,file={}", image.display()),
            Init::Systemd => format!("file={}", self.drives.root(&image)?.display()),
        })
    }

    /// A root complex for each that a device names, with room for the buses of its ports.
    fn complexes(&self) -> BTreeMap<(u16, u8), Vec<(String, String)>> {
        let devices = self.machine.devices();
        let places: BTreeSet<_> = devices.iter().map(|one| (one.node, one.complex)).collect();
        let room = (256 - FIRST_BUS) / places.len().max(1);
        let complex = |(number, (node, complex)): (usize, (u16, u8))| {
            let words = [
                ("driver", "pxb-pcie".to_owned()),
                ("id", complex_id(node, complex)),
                ("bus_nr", (FIRST_BUS + number * room).to_string()),
                ("numa_node", node.to_string()),
                ("bus", "pcie.0".to_owned()),
            ];
            ((node, complex), owned(words))
        };
        places.into_iter().enumerate().map(complex).collect()
    }

    /// A device with the root port that it hangs from.
    fn attached(&self, number: usize, one: &Device) -> Result<Vec<String>> {
        let before = self.machine.devices();
        let siblings = before.iter().take(number);
        let place = siblings.filter(|o| (o.node, o.complex) == (one.node, one.complex)).count();
        let removable = matches!(&one.kind, Kind::Drive(drive) if drive.removable);
        let port = owned([
            ("driver", "pcie-root-port".to_owned()),
            ("id", port_id(&one.id)),
            ("bus", complex_id(one.node, one.complex)),
            ("chassis", (number + 1).to_string()),
            ("slot", (number + 1).to_string()),
            ("addr", format!("{place:x}")),
            // Half a second of each boot, for each pair of ports.
            ("hotplug", if removable { "on" } else { "off" }.to_owned()),
        ]);
        let mut list = device(&port);
        match &one.kind {
            Kind::Drive(drive) => list.extend(self.blocks(&one.id, drive)?),
            Kind::Nic(nic) => list.extend(self.network(number, &one.id, nic)),
            Kind::Gpu(_) => list.extend(words(&[(
                "-blockdev",
                &format!(
                    "driver=null-co,node-name={},size=1048576,read-zeroes=on",
                    blocks_id(&one.id)
                ),
            )])),
        }
        list.extend(device(&plugged(one)));
        if let Kind::Nic(_) = one.kind {
            let mac = self.mac(number, &one.id);
            if let Some(last) = list.last_mut() {
                last.push_str(&format!(",mac={mac}"));
            }
        }
        if matches!(&one.kind, Kind::Drive(drive) if drive.bus == DriveBus::Sata) {
            let (id, serial, blocks) = (&one.id, one.serial(), blocks_id(&one.id));
            list.push("-device".into());
            list.push(format!("ide-hd,id={id}disk,drive={blocks},bus={id}.0,serial={serial}"));
        }
        Ok(list)
    }

    fn blocks(&self, id: &str, drive: &Drive) -> Result<Vec<String>> {
        let node = blocks_id(id);
        let text = match self.drives.file(id, drive)? {
            Some(file) => format!(
                "driver=raw,node-name={node},file.driver=file,file.filename={}",
                file.display()
            ),
            None => format!(
                "driver=null-co,node-name={node},size={},latency-ns={},read-zeroes=on",
                drive.capacity_mib << 20,
                u64::from(drive.latency_us) * 1000
            ),
        };
        Ok(vec!["-blockdev".into(), text])
    }

    fn network(&self, number: usize, id: &str, nic: &Nic) -> Vec<String> {
        let wire = self.options.ends.get(id).map(|(words, _)| words.clone());
        let queues = nic.queues;
        let text = match nic.wiring {
            Wiring::Tap => format!("tap,queues={queues},script=no,downscript=no"),
            Wiring::Wire if wire.is_some() => wire.unwrap_or_default(),
            Wiring::Alone | Wiring::Wire => format!("hubport,hubid={number}"),
        };
        vec!["-netdev".into(), format!("{text},id={}", network_id(id))]
    }

    /// Locally administered, and another one at the other end of a wire.
    fn mac(&self, number: usize, id: &str) -> String {
        let end = self.options.ends.get(id).map_or(0, |(_, end)| *end);
        format!("02:00:00:00:{end:02x}:{number:02x}")
    }
}

/// A device as `-device` and `device_add` take it.
pub(crate) fn plugged(one: &Device) -> Vec<(String, String)> {
    let common = |driver: &str| {
        owned([("driver", driver.to_owned()), ("id", one.id.clone()), ("bus", port_id(&one.id))])
    };
    let more = |driver: &str, words: Vec<(&str, String)>| {
        let words = words.into_iter().map(|(key, value)| (key.to_owned(), value));
        common(driver).into_iter().chain(words).collect()
    };
    let blocks = || ("drive", blocks_id(&one.id));
    let network = || ("netdev", network_id(&one.id));
    match &one.kind {
        Kind::Drive(drive) if drive.bus == DriveBus::Sata => common("ich9-ahci"),
        Kind::Drive(drive) => {
            let queues = ("max_ioqpairs", drive.queues.to_string());
            more("nvme", vec![blocks(), ("serial", one.serial()), queues])
        }
        Kind::Gpu(_) => more("nvme", vec![blocks(), ("serial", one.serial())]),
        Kind::Nic(nic) => {
            // An option ROM would be run by the firmware.
            let mut words = vec![network(), ("romfile", String::new())];
            if nic.model == NicModel::Virtio && nic.queues > 1 {
                words.push(("mq", "on".to_owned()));
                words.push(("vectors", (2 * nic.queues + 2).to_string()));
            }
            more(nic_driver(nic.model), words)
        }
    }
}

fn nic_driver(model: NicModel) -> &'static str {
    match model {
        NicModel::Virtio => "virtio-net-pci",
        NicModel::Vmxnet3 => "vmxnet3",
        NicModel::E1000e => "e1000e",
    }
}

/// Linux's module for a device; none for a GPU.
fn module(kind: &Kind) -> Vec<&'static str> {
    match kind {
        Kind::Drive(drive) if drive.bus == DriveBus::Sata => vec!["ahci", "sd_mod"],
        Kind::Drive(_) => vec!["nvme"],
        Kind::Nic(nic) => match nic.model {
            NicModel::Virtio => vec!["virtio_net"],
            NicModel::Vmxnet3 => vec!["vmxnet3"],
            NicModel::E1000e => vec!["e1000e"],
        },
        Kind::Gpu(_) => vec![],
    }
}

/// QEMU's id of the root port of a device.
pub(super) fn port_id(device: &str) -> String {
    format!("{device}-port")
}

fn complex_id(node: u16, complex: u8) -> String {
    format!("complex{node}-{complex}")
}

fn blocks_id(device: &str) -> String {
    format!("{device}-blocks")
}

fn network_id(device: &str) -> String {
    format!("{device}-net")
}

fn words(pairs: &[(&str, &str)]) -> impl Iterator<Item = String> {
    pairs
        .iter()
        .flat_map(|(key, value)| [(*key).to_owned(), (*value).to_owned()])
        .collect::<Vec<_>>()
        .into_iter()
}

fn owned<const N: usize>(words: [(&str, String); N]) -> Vec<(String, String)> {
    words.map(|(key, value)| (key.to_owned(), value)).into()
}

/// `-device` with the driver first.
fn device(words: &[(String, String)]) -> Vec<String> {
    let word = |(key, value): &(String, String)| match key.as_str() {
        "driver" => value.clone(),
        _ => format!("{key}={value}"),
    };
    vec!["-device".into(), words.iter().map(word).collect::<Vec<_>>().join(",")]
}
