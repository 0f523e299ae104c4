# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every knob that the guest's kernel has, one a line: its place, a tab, its bytes as Python writes them.

A knob is a file below /sys, /proc/sys or /proc/irq that has a write bit and can be read, an
interrupt's mask (which has none where the kernel manages it), what ethtool tells of a NIC, a PCI
function's control registers, and the latency that somebody holds idle CPUs to. What counts, measures or tells the time by itself is left out by
name.
"""

import os
import re
import stat
import subprocess
import sys

TREES = ["/sys", "/proc/sys", "/proc/irq"]

# Other file systems below /sys, none of them knobs: debugging, tracing, groups of processes.
OTHERS = ("/sys/kernel/debug", "/sys/kernel/tracing", "/sys/fs/cgroup", "/sys/kernel/config")

# What changes by itself, and what is too long to be a knob.
ITSELF = re.compile(
    "/uevent$|/rescan$|/proc/sys/kernel/random/|/proc/sys/fs/(dentry|inode|file)|"
    "/proc/sys/kernel/(ns_last_pid|pty/nr)|/rtc/|/hwmon|/wakeup|/statistics/|/since_epoch$|/carrier$|"
    "/resource[0-9]|/rom$|/vpd$|/sys/power/(state|wakeup_count)|/proc/sys/vm/compact|"
    "/sys/kernel/(slab|mm/ksm)|/bdi/.*_bytes$|/byte_queue_limits/limit$|/byte_queue_limits/(slack|inflight|stall)|/sys/firmware/|/sys/module/.*/sections|/trace|/kcore"
)

# Bytes of an attribute: it has one page at most.
PAGE = 4096

# ethtool's options that print what can be set.
ETHTOOL = ["-l", "-g", "-c", "-k", "-a", "-x"]

# Offsets in PCI Express' capability: device control and link control (PCIe base spec, 7.5.3).
CONTROL = [("CAP_EXP+8.w", "device control"), ("CAP_EXP+10.w", "link control")]


def knobs():
    for tree in TREES:
        for folder, below, files in os.walk(tree):
            below[:] = [name for name in below if os.path.join(folder, name) not in OTHERS]
            for name in files:
                path = os.path.join(folder, name)
                if ITSELF.search(path):
                    continue
                mode = os.lstat(path).st_mode
                is_mask = "smp_affinity" in name
                if stat.S_ISREG(mode) and mode & 0o444 and (mode & 0o222 or is_mask):
                    yield path


def read(path):
    # Some attributes block a reader; none of them is a knob.
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(file, PAGE)
    finally:
        os.close(file)


def told(words):
    said = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return said.stdout


def holders(device):
    """How many processes have a device open."""
    files = [f"/proc/{process}/fd" for process in os.listdir("/proc") if process.isdigit()]
    return sum(os.path.realpath(os.path.join(folder, file)) == device
               for folder in files if os.path.isdir(folder) for file in os.listdir(folder))


def main():
    for path in knobs():
        if path.endswith("/config"):
            continue
        try:
            print(path, repr(read(path)), sep="\t")
        except OSError as error:
            print(path, error.strerror, sep="\t")
    for nic in sorted(os.listdir("/sys/class/net")):
        for option in ETHTOOL:
            print(f"ethtool {option} {nic}", repr(told(["ethtool", option, nic])), sep="\t")
    for function in sorted(os.listdir("/sys/bus/pci/devices")):
        for register, name in CONTROL:
            print(f"{name} of {function}", repr(told(["setpci", "-s", function, register])), sep="\t")
    latency = "/dev/cpu_dma_latency"
    if os.path.exists(latency):
        print(f"holders of {latency}", holders(latency), sep="\t")
        print("notes of what is held", sorted(os.listdir("/run/nearside"))
              if os.path.isdir("/run/nearside") else None, sep="\t")
    sys.stdout.flush()


main()
