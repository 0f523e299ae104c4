# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes every NIC and every drive's admin queue work, and tells who served their interrupts.

A line for each interrupt that came: its function, its name, how many CPUs of the function's node
served, and how many all did. Interrupts that the kernel places by itself (queues of drives) and
functions without a node are left out.
"""

import os
import re
import socket
import subprocess
import time

FUNCTIONS = "/sys/bus/pci/devices"

# Named by their drivers: drivers/nvme/host/pci.c, drivers/block/virtio_blk.c.
MANAGED = re.compile(r"nvme\d+q[1-9]|virtio\d+-req")

# Of a network for documentation (RFC 5737), with a neighbour that need not be there.
NETWORK = "198.51.100"
NEIGHBOUR = "02:00:00:00:ff:01"

SECONDS = 4
ADMIN_COMMANDS = 30


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def cpus(listed):
    found = set()
    for part in listed.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


# Example:
#            CPU0       CPU1
#  49:          7          0  PCI-MSIX-0000:92:00.0   1-edge      virtio5-input.0
def counts():
    lines = text("/proc/interrupts").splitlines()
    width = len(lines[0].split())
    for line in lines[1:]:
        number, *rest = line.split()
        if number.rstrip(":").isdigit():
            yield int(number.rstrip(":")), [int(word) for word in rest[:width]], rest[-1]


def owners():
    for function in os.listdir(FUNCTIONS):
        node = int(text(f"{FUNCTIONS}/{function}/numa_node"))
        folder = f"{FUNCTIONS}/{function}/msi_irqs"
        if node >= 0 and os.path.isdir(folder):
            for number in os.listdir(folder):
                yield int(number), (function, node)


def send(nics):
    """Packets of every CPU to every NIC: transmit queues are chosen by CPU."""
    every = sorted(os.sched_getaffinity(0))
    sockets = []
    for number, nic in enumerate(nics):
        own, other = f"{NETWORK}.{number * 4 + 1}", f"{NETWORK}.{number * 4 + 2}"
        subprocess.run(["ip", "address", "add", f"{own}/30", "dev", nic], check=True)
        neighbour = ["ip", "neigh", "replace", other, "lladdr", NEIGHBOUR, "dev", nic]
        subprocess.run(neighbour, check=True)
        sockets.append((socket.socket(socket.AF_INET, socket.SOCK_DGRAM), other))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for cpu in every:
            os.sched_setaffinity(0, {cpu})
            for port, (one, other) in enumerate(sockets):
                for _ in range(20):
                    one.sendto(b"near" * 64, (other, 9000 + port))
    os.sched_setaffinity(0, every)
    for number, nic in enumerate(nics):
        own = f"{NETWORK}.{number * 4 + 1}/30"
        subprocess.run(["ip", "address", "del", own, "dev", nic], check=True)


def ask():
    for drive in sorted(name for name in os.listdir("/dev") if re.fullmatch(r"nvme\d+", name)):
        for _ in range(ADMIN_COMMANDS):
            words = ["nvme", "id-ctrl", f"/dev/{drive}"]
            subprocess.run(words, stdout=subprocess.DEVNULL, check=True)


def main():
    nics = sorted(name for name in os.listdir("/sys/class/net") if name != "lo")
    before = {number: served for number, served, _ in counts()}
    send(nics)
    ask()
    owned = dict(owners())
    for number, served, name in counts():
        if number not in owned or MANAGED.search(name):
            continue
        function, node = owned[number]
        near = cpus(text(f"/sys/devices/system/node/node{node}/cpulist"))
        came = [now - then for now, then in zip(served, before.get(number, served))]
        local = sum(count for cpu, count in enumerate(came) if cpu in near)
        if sum(came):
            print(function, name, local, sum(came))


main()
