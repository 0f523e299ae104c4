// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every pure parser of this crate under one signature, for fuzzing; not part of the interface.
//!
//! Each takes any bytes and either reads or refuses them. What is read is dropped: that nothing
//! panics, overflows or grows is the whole claim here. The examples are lines that a kernel wrote
//! and seed the corpora.

use root::fuzz::Parser;
use setting::{Form, canonical};
use units::{CpuSet, PciAddress};

use crate::{acpi, block, cache, cpu, dmi, gpu, host, irq, near, net, node, pci, power, rdma};

/// A parser of text.
macro_rules! text {
    ($name:literal, $example:literal, $parse:expr) => {
        Parser {
            name: $name,
            example: $example.as_bytes(),
            parse: |bytes| {
                let parse: fn(&str) = $parse;
                parse(&String::from_utf8_lossy(bytes));
            },
        }
    };
}

/// A parser of bytes.
macro_rules! bytes {
    ($name:literal, $example:expr, $parse:expr) => {
        Parser { name: $name, example: $example, parse: $parse }
    };
}

/// All of them.
pub const PARSERS: &[Parser] = &[
    bytes!("signatures", b"LUKS\xba\xbe", |bytes| {
        let length = u64::try_from(bytes.len()).unwrap_or(0);
        drop(crate::signatures(bytes, bytes, length));
    }),
    text!("cpu list", "0-3,8-11,40", |t| drop(CpuSet::from_list(t))),
    text!("cpu mask", "00000000,0000ff0f", |t| drop(CpuSet::from_mask(t))),
    text!("pci address", "0000:3e:00.0", |t| drop(t.parse::<PciAddress>())),
    text!("setting", "always [madvise] never", canonical_forms),
    text!("cpuinfo", "processor\t: 0\nphysical id\t: 0\ncore id\t: 0\napicid\t: 0\n", |t| {
        drop(cpu::cpuinfo::parse(t));
    }),
    text!("status", "Cpus_allowed:\tff\nCpus_allowed_list:\t0-7\n", |t| {
        drop(cpu::status_allowed(t));
    }),
    text!("cgroup", "4:cpuset:/a/b\n0::/user.slice\n", cgroup),
    text!("cgroup mount", "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", |t| {
        let _ = (cpu::cgroup::mountinfo_line(t), cpu::cgroup::mounts_line(t));
    }),
    text!("cache size", "32768K", |t| drop(cache::parse_size(t))),
    text!("cache type", "Unified", |t| {
        let _ = cache::parse_kind(t);
    }),
    text!("node meminfo", "Node 0 MemTotal:       32768524 kB\n", |t| {
        drop(node::memory(t, "MemTotal"));
    }),
    text!("node distance", "10 21 31 21\n", |t| {
        let online: CpuSet = (0..4).map(units::Cpu).collect();
        drop(node::distances(t, &online));
    }),
    text!("command line", "root=/dev/sda isolcpus=managed_irq,2-5 a=\"b c\" -- init", |t| {
        drop(host::command_line::parse(t));
    }),
    text!("service file", "# comment\nIRQBALANCE_ARGS=--hintpolicy=exact\n", |t| {
        drop(host::services::settings(t));
    }),
    text!("sysinfo", "VM00 Control Program: KVM/Linux\n", |t| {
        let _ = host::virtual_machine::sysinfo(t);
    }),
    text!("modules", "kvm_intel 401408 12 - Live 0x0000000000000000\n", |t| {
        drop(host::kvm_users(t));
    }),
    text!("pci uevent", "PCI_CLASS=10802\nPCI_ID=1344:51C3\nPCI_SUBSYS_ID=1344:1300\n", |t| {
        drop(pci::identity::parse_uevent(t));
    }),
    text!("pci modalias", "pci:v00001344d000051C3sv00001344sd00001300bc01sc08i02", |t| {
        drop(pci::identity::parse_modalias(t));
    }),
    text!("pci speed", "16.0 GT/s PCIe", |t| drop(pci::link::parse_speed(t))),
    text!("pci width", "x16", |t| drop(pci::link::parse_width(t))),
    text!("pci link", "../../../devices/pci0000:17/0000:17:00.0/0000:18:00.0", |t| {
        drop(pci::place::parse(t));
        drop(pci::place::follow("/sys/bus/pci/devices", t));
    }),
    text!("pci slot address", "0000:3e:00", |t| {
        let _ = pci::slot::parse_address(t);
    }),
    text!("numa node", "-1", |t| drop(pci::node::parse_node(t))),
    text!("aer totals", "RxErr 0\nTOTAL_ERR_COR 12\n", |t| {
        drop(pci::function::parse_total(t, "TOTAL_ERR_COR"));
    }),
    text!("mountinfo", "24 1 8:0 / /mnt\\040x rw - ext4 /dev/sda rw", |t| {
        drop(block::mount::parse_mountinfo(t));
    }),
    text!("mounts", "/dev/sda1 / ext4 rw,relatime 0 0", |t| drop(block::mount::parse_mounts(t))),
    text!("nvme smart", "\"0000000000000000\"", |t| {
        let _ = block::health::parse(t);
    }),
    text!("nvme tolerance", "100000", |t| drop(block::nvme::parse_tolerance(t))),
    text!("block flag", "1", |t| drop(block::disk::parse_flag(t))),
    text!("dm uuid", "LVM-abcdefABCDEF", |t| drop(block::volume::mapped(t))),
    text!("vlan table", "Name-Type: VLAN_NAME\neth0.5 | 5 | eth0\n", |t| {
        drop(net::stack::parse_vlans(t));
    }),
    text!("bonding slaves", "eth0 eth1\n", |t| drop(net::stack::words(t))),
    text!("route", "Iface Destination Gateway\neth0 00000000 0102A8C0\n", |t| {
        let _ = net::usage::routes(t).count();
    }),
    text!("if_inet6", "fe80000000000000000000fffe000001 02 40 20 80 eth0\n", |t| {
        let _ = net::usage::addresses(t).count();
    }),
    text!("ipv4 route", "eth20 0014A8C0 00000000 0001 0 0 100 00FFFFFF 0 0 0", |t| {
        drop(near::route::parse_v4(t));
    }),
    text!("ipv6 route", "fd000020000000000000000000000000 40 0 00 0 00000100 00000001 00000000 00000001 eth0", |t| {
        drop(near::route::parse_v6(t));
    }),
    text!("mount", "36 35 98:0 / /mnt\\040a rw - overlay overlay rw,upperdir=/a", |t| {
        let _ = (near::mount::parse_mountinfo(t), near::mount::parse_mounts(t));
    }),
    text!("fabrics address", "traddr=192.168.20.2,trsvcid=4420,host_iface=eth20", |t| {
        for transport in ["tcp", "fc"] {
            drop(near::fabric::parse(transport, t));
        }
    }),
    text!("memory nodes", "Mems_allowed_list:\t0-1\n", |t| drop(near::memory_of_status(t))),
    text!("net speed", "100000", |t| drop(net::speed(t))),
    text!("net uevent", "DEVTYPE=vlan\nINTERFACE=eth0.5\n", |t| {
        let _ = net::kind::device_type(t);
    }),
    text!("rdma rate", "100 Gb/sec (4X EDR)", |t| drop(rdma::rate(t))),
    text!("rdma gid", "fe80:0000:0000:0000:0000:00ff:fe00:0001", |t| {
        let _ = rdma::is_set(t);
    }),
    text!("gpu text", "Model: \t\t NVIDIA H100\nDevice Minor: \t 0\n", |t| {
        let _ = gpu::value(t, "Device Minor");
    }),
    text!("interrupt action", "nvme0q12", |t| {
        let _ = irq::name::parse(t);
    }),
    text!("policy cpus", "0 1 2 3", |t| drop(power::frequency::parse_words(t))),
    text!("switch", "1", |t| drop(power::switch(t))),
    bytes!(
        "interrupts",
        b"           CPU0       CPU1\n 40:          1          0   PCI-MSI 5-edge      nvme0q1\n",
        |bytes| drop(irq::interrupts::parse(bytes))
    ),
    bytes!("acpi table", b"APIC\x34\0\0\0\x03\x40AAAAAABBBBBBBB\x01\0\0\0CCCC\x01\0\0\0\0\0\xe0\xfe\x01\0\0\0\0\x08\0\0\x01\0\0\0", acpi_table),
    bytes!("smbios table", b"\x09\x11\0\x09\x01\xb0\x0d\x04\x04\x01\0\x0c\x01\0\0\x17\0Slot 1\0\0", dmi::parse_all),
    bytes!("config space", CONFIG, config_space),
    bytes!("vpd page 80", b"\0\x80\0\x04S123", |bytes| drop(block::scsi::parse_serial(bytes))),
];

/// The head of an Express function: its capability at 0x40.
const CONFIG: &[u8] = b"\x86\x80\x30\x20\x06\x04\x10\0\x07\0\x04\x06\0\0\x01\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\x40\0\0\0\0\0\0\0\0\0\0\0\x10\0\x42\x01\x21\x80\0\0\0\0\0\0\x45\0\0\0";

fn canonical_forms(text: &str) {
    let forms = [Form::Text, Form::Number, Form::Numbers, Form::Selected, Form::Switch];
    for form in forms {
        let _ = canonical(form, text);
    }
}

fn cgroup(text: &str) {
    for controller in ["cpuset", ""] {
        let _ = cpu::cgroup::group(text, controller);
    }
}

fn acpi_table(bytes: &[u8]) {
    use acpi::tables;
    for name in ["APIC", "SRAT", "SLIT", "FACP"] {
        let _ = tables::check(bytes, name);
    }
    let _ = (tables::madt(bytes), tables::srat_cpus(bytes), tables::srat_memory(bytes));
    let _ = (tables::slit(bytes), tables::fadt_no_aspm(bytes));
}

fn config_space(bytes: &[u8]) {
    let config = pci::config::Config::parse(bytes);
    let _ = (config.vendor(), config.device(), config.revision(), config.class());
    let _ = (config.subsystem(), config.port_kind(), config.hot_plug(), config.registers());
    if let Ok(link) = config.link() {
        let _ = format!("{link:?}");
    }
}
