// SPDX-License-Identifier: MIT OR Apache-2.0
//! Secrets in lines that people wrote: the kernel's command line, mounts, control groups.
//!
//! Names of hosts and users, and passwords, are no secrets by their form: their place tells.

use super::by_id;
use super::known::Known;
use super::map::Map;
use super::place::{digits, host, scan, whole};
use super::scan::Form;

/// Keys of the kernel's command line whose values are nobody's business.
const PRIVATE_KEYS: [&str; 10] = [
    "pass",
    "secret",
    "token",
    "credential",
    "hostname",
    "machine_id",
    "iscsi",
    "nfsroot",
    "domain",
    "serialno",
];

/// Keys, without the module before their dot, whose values are the machine's own.
const OWN_KEYS: [&str; 4] = ["sn", "serial", "asset", "asset_tag"];

/// Beginnings of a root file system's place on a network, in which a password may stand:
/// `iscsi:user:password@10.0.0.7::3260:1:iqn.2003-01.org.example:disk` (dracut.cmdline(7)).
const REMOTE: [&[u8]; 4] = [b"iscsi:", b"nfs:", b"nfs4:", b"nbd:"];

/// Options of a mount whose values are nobody's business.
const PRIVATE_OPTIONS: [&[u8]; 7] =
    [b"username=", b"user=", b"domain=", b"secret=", b"password=", b"pass=", b"credentials="];

/// Parts of a cloud-init source that name the machine (`ds=nocloud;h=HOST;i=ID`; cloud-init's
/// NoCloud datasource).
const CLOUD_KEYS: [&[u8]; 4] = [b"h", b"local-hostname", b"i", b"instance-id"];

/// The kernel's command line.
pub(super) fn command_line(bytes: &mut [u8], map: &mut Map, known: &Known) {
    // Before the scan: what it replaced must not be replaced again.
    for word in words(bytes) {
        let Some(end) = word.iter().position(|&byte| byte == b'=') else { continue };
        let (key, value) = word.split_at_mut(end);
        let key = String::from_utf8_lossy(key).to_ascii_lowercase();
        let value = value.get_mut(1..).unwrap_or_default();
        let last = key.rsplit('.').next().unwrap_or_default();
        let is_private = key.ends_with("key")
            || OWN_KEYS.contains(&last)
            || PRIVATE_KEYS.iter().any(|part| key.contains(part));
        if key == "ip" {
            // client:server:gateway:netmask:hostname:... (Documentation/admin-guide/nfs/nfsroot.rst)
            let name = value.split_mut(|&byte| byte == b':').nth(4).unwrap_or_default();
            whole(name, |name| host(name, map));
        } else if key.ends_with("hostid") {
            host_id(unquoted(value), map, known);
        } else if is_private {
            whole(unquoted(value), |value| map.text(value));
        } else if let Some(kind) = REMOTE.iter().find(|kind| value.starts_with(kind)) {
            whole(&mut value[kind.len()..], |value| map.text(value));
        } else {
            by_id::redact(value, map, known);
            addresses(value, map);
            for part in value.split_mut(|byte| matches!(byte, b';' | b' ' | b'"')) {
                parts(part, map);
            }
        }
    }
    scan(bytes, Form::Addresses, map, known);
}

/// `spl_hostid=0x00bab10c`, `hostid=` and a UUID, which is told the same where it stands elsewhere.
fn host_id(value: &mut [u8], map: &mut Map, known: &Known) {
    let skip = if value.starts_with(b"0x") { 2 } else { 0 };
    let own = value.get_mut(skip..).unwrap_or_default();
    match own.len() {
        ..=12 => whole(own, |text| map.text(text)),
        _ => digits(own, map, known),
    }
}

/// The words of a command line: a blank in quotes ends none (lib/cmdline.c, next_arg).
fn words(bytes: &mut [u8]) -> impl Iterator<Item = &mut [u8]> {
    let mut is_quoted = false;
    bytes.split_mut(move |byte| {
        is_quoted ^= *byte == b'"';
        !is_quoted && byte.is_ascii_whitespace()
    })
}

fn unquoted(value: &mut [u8]) -> &mut [u8] {
    let quotes = usize::from(value.len() > 1 && value.starts_with(b"\"") && value.ends_with(b"\""));
    let end = value.len() - quotes;
    &mut value[quotes..end]
}

/// A part of a value: what names this machine to a cloud, `user@host`, and names of hosts.
fn parts(part: &mut [u8], map: &mut Map) {
    if let Some(end) = part.iter().position(|&byte| byte == b'=') {
        let (key, value) = part.split_at_mut(end);
        if CLOUD_KEYS.contains(&&*key) {
            return whole(&mut value[1..], |name| host(name, map));
        }
    }
    if part.windows(3).any(|text| text == b"://") {
        // Its host is replaced already, its path is no host.
        return;
    }
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_@".contains(byte);
    let mut before = b' ';
    for token in part.split_inclusive_mut(|byte| !is_name(byte)) {
        let len = token.iter().position(|byte| !is_name(byte)).unwrap_or(token.len());
        let next = token.get(len).copied().unwrap_or(b' ');
        if before != b'/' && next != b'/' {
            name(&mut token[..len], map);
        }
        before = next;
    }
}

/// `user@host`, or a host's name with its domain.
fn name(token: &mut [u8], map: &mut Map) {
    let is_word = |part: &[u8]| part.iter().any(u8::is_ascii_alphabetic);
    if token.iter().filter(|&&byte| byte == b'@').count() == 1
        && token.split(|&byte| byte == b'@').all(is_word)
    {
        let mut both = token.split_mut(|&byte| byte == b'@');
        whole(both.next().unwrap_or_default(), |user| map.text(user));
        whole(both.next().unwrap_or_default(), |name| host(name, map));
    } else if is_domain_name(token) {
        whole(token, |name| host(name, map));
    }
}

/// Last labels of what is a file or a unit of systemd, and no host.
const NO_HOSTS: [&str; 32] = [
    "automount",
    "bin",
    "bz",
    "cfg",
    "conf",
    "cpio",
    "device",
    "efi",
    "fw",
    "gz",
    "img",
    "ini",
    "iso",
    "ko",
    "ks",
    "lz",
    "mount",
    "path",
    "rom",
    "scope",
    "service",
    "sh",
    "slice",
    "so",
    "socket",
    "swap",
    "target",
    "timer",
    "toml",
    "xz",
    "yaml",
    "zst",
];

/// Last labels by which two labels are a host's name: domains that many have, and those of own nets.
const DOMAINS: [&str; 20] = [
    "com",
    "net",
    "org",
    "edu",
    "gov",
    "mil",
    "int",
    "io",
    "dev",
    "cloud",
    "local",
    "localdomain",
    "internal",
    "intern",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "arpa",
];

/// Whether a text is a host's name with its domain: three labels or more, or two of which the last
/// is known to be a domain (RFC 1035, 2.3.1).
fn is_domain_name(token: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(token) else { return false };
    let labels: Vec<&str> = text.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let last = labels.last().map(|last| last.to_ascii_lowercase()).unwrap_or_default();
    let is_last = last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_known = DOMAINS.contains(&last.as_str());
    labels.iter().all(is_label)
        && is_last
        && !NO_HOSTS.contains(&last.as_str())
        && (labels.len() > 2 || (labels.len() == 2 && is_known))
        && labels.first().is_some_and(|first| first.bytes().any(|byte| byte.is_ascii_alphabetic()))
}

/// `https://user:password@host.example.com:8080/path`, anywhere in a word.
fn addresses(word: &mut [u8], map: &mut Map) {
    let mut rest = word;
    while let Some(start) = rest.windows(3).position(|part| part == b"://") {
        rest = &mut rest[start + 3..];
        let ends = |byte: &u8| matches!(byte, b'/' | b'?' | b'#' | b';' | b',' | b'"');
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        let (authority, after) = rest.split_at_mut(end);
        let at = authority.iter().rposition(|&byte| byte == b'@');
        if let Some(at) = at {
            whole(&mut authority[..at], |user| map.text(user));
        }
        let server = &mut authority[at.map_or(0, |at| at + 1)..];
        hosts(server, map);
        query(after, map);
        rest = after;
    }
}

/// What is behind `?` or `#` in an address: tokens and signatures, whatever they are called.
fn query(path: &mut [u8], map: &mut Map) {
    let ends = |byte: &u8| matches!(byte, b';' | b',' | b'"' | b' ');
    let end = path.iter().position(ends).unwrap_or(path.len());
    let start = path[..end].iter().position(|byte| matches!(byte, b'?' | b'#')).unwrap_or(end);
    for part in path[start..end].split_mut(|byte| matches!(byte, b'?' | b'#' | b'&')) {
        let value = part.iter().position(|&byte| byte == b'=').map_or(0, |at| at + 1);
        whole(&mut part[value..], |value| map.text(value));
    }
}

/// Names between colons, commas and at-signs: those of hosts and users, but no numbers.
fn hosts(text: &mut [u8], map: &mut Map) {
    if text.contains(&b'[') {
        // An IPv6 address, which is known by its form.
        return;
    }
    for name in text.split_mut(|byte| matches!(byte, b':' | b',' | b'@')) {
        if name.iter().any(u8::is_ascii_alphabetic) && !is_network_kind(name) {
            whole(name, |name| host(name, map));
        }
    }
}

/// Lustre's kinds of networks: `mds1.example.com@tcp0:/scratch`.
fn is_network_kind(name: &[u8]) -> bool {
    let kind = name.trim_ascii_end();
    let letters = kind.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
    matches!(&kind[..letters], b"tcp" | b"o2ib" | b"o" | b"kfi" | b"gni")
}

/// Mounts: `server:/export /mnt nfs4 ...`, `//server/share /mnt cifs username=...`,
/// `user@host:/home /mnt fuse.sshfs ...`, `mon1:6789,mon2:6789:/ /mnt ceph name=...,secret=...`.
pub(super) fn mounts(bytes: &mut [u8], map: &mut Map, known: &Known) {
    // The root of a mount of control groups is a path of theirs: what stands there is not scanned
    // again, so that it stays as it is in /proc/self/cgroup.
    for line in bytes.split_inclusive_mut(|&byte| byte == b'\n') {
        match line.windows(9).any(|text| text == b" - cgroup") {
            true => line
                .split_mut(u8::is_ascii_whitespace)
                .for_each(|word| known.groups.redact(word, map, known)),
            false => plain_mounts(line, map, known),
        }
    }
}

fn plain_mounts(bytes: &mut [u8], map: &mut Map, known: &Known) {
    let has = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    let is_export = EXPORTED.iter().any(|kind| has(kind));
    let root = if is_export && has(b" - ") { Some(3) } else { None };
    for (at, word) in bytes.split_mut(u8::is_ascii_whitespace).enumerate() {
        if root == Some(at) {
            folders(word, map);
        }
        by_id::redact(word, map, known);
        source(word, is_export, map);
        for path in word.split_mut(|byte| matches!(byte, b',' | b':' | b'=')) {
            home(path, map);
        }
        // control groups have a `name=` too, which is no secret: `name=systemd`
        let is_ceph = word.windows(7).any(|part| part == b"secret=");
        for option in word.split_mut(|&byte| byte == b',') {
            let key = PRIVATE_OPTIONS.iter().find(|key| option.starts_with(key));
            let len = match key {
                Some(key) => key.len(),
                None if is_ceph && option.starts_with(b"name=") => 5,
                None => continue,
            };
            whole(&mut option[len..], |value| map.text(value));
        }
    }
    scan(bytes, Form::Addresses, map, known);
}

/// Folders of people, by the parts before what is theirs.
const HOMES: [&[u8]; 6] =
    [b"/home/", b"/Users/", b"/root/", b"/run/user/", b"/run/media/", b"/media/"];

/// `/home/alice/work`, `/run/media/alice/BACKUP`: names of people, and what they call their folders.
/// Below `/run/user/UID` the names are those of programs.
fn home(path: &mut [u8], map: &mut Map) {
    let Some(before) = HOMES.iter().find(|before| path.starts_with(before)) else { return };
    let most = if *before == b"/run/user/" { 1 } else { usize::MAX };
    let (_, theirs) = path.split_at_mut(before.len());
    // `/media/cdrom` is no person's.
    if *before == b"/media/" && !theirs.contains(&b'/') {
        return;
    }
    for part in theirs.split_mut(|&byte| byte == b'/').take(most) {
        whole(part, |name| map.text(name));
    }
}

/// Kinds of file systems whose place on another host is a path there, which people named.
const EXPORTED: [&[u8]; 3] = [b" nfs ", b" nfs4 ", b" fuse.sshfs "];

/// Names of folders.
fn folders(path: &mut [u8], map: &mut Map) {
    path.split_mut(|&byte| byte == b'/').for_each(|part| whole(part, |name| map.text(name)));
}

/// What is mounted, where another host has it.
fn source(word: &mut [u8], is_export: bool, map: &mut Map) {
    if let Some(share) = word.strip_prefix(b"//") {
        let end = share.iter().position(|&byte| byte == b'/').unwrap_or(share.len());
        hosts(&mut word[2..2 + end], map);
        return;
    }
    if word.windows(3).any(|part| part == b"://") {
        addresses(word, map);
        return;
    }
    let Some(end) = word.windows(2).position(|part| part == b":/") else { return };
    let (before, path) = word.split_at_mut(end);
    // An overlay's `lowerdir=/a:/b` has paths between its colons.
    if !before.iter().any(|byte| matches!(byte, b'/' | b'=')) {
        hosts(before, map);
        if is_export {
            folders(path, map);
        }
    }
}

/// The control groups of a process, a path a line; a container's has its id or its name in it.
pub(super) fn control_groups(bytes: &mut [u8], map: &mut Map, known: &Known) {
    for line in bytes.split_mut(|&byte| byte == b'\n') {
        known.groups.redact(line, map, known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(by: fn(&mut [u8], &mut Map, &Known), text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        by(&mut bytes, &mut Map::new([5; 32]), &Known::default());
        assert_eq!(bytes.len(), text.len());
        String::from_utf8(bytes).unwrap()
    }

    fn hides(by: fn(&mut [u8], &mut Map, &Known), text: &str, secrets: &[&str], kept: &[&str]) {
        let redacted = redacted(by, text);
        for secret in secrets {
            assert!(text.contains(secret) && !redacted.contains(secret), "{secret}: {redacted}");
        }
        for kept in kept {
            assert!(redacted.contains(kept), "{kept}: {redacted}");
        }
    }

    #[test]
    fn passwords_and_hosts_of_a_command_line_are_replaced() {
        hides(
            command_line,
            "netroot=iscsi:alice:s3cr3t@10.9.8.7::3260:1:iqn.2003-01.org.acme:disk4 \
             inst.ks=https://bob:hunter2@ks.example.com:8080/k.cfg \
             ds=nocloud-net;s=http://deploy.corp.example/x/ root=zfs:tank/a isolcpus=2-5 \
             console=ttyS0,115200n8",
            &["alice", "s3cr3t", "10.9.8.7", "acme", "bob", "hunter2", "ks.example", "deploy.corp"],
            &[
                "netroot=iscsi:",
                "/k.cfg ",
                "ds=nocloud-net;s=http://",
                "root=zfs:tank/a isolcpus=2-5",
            ],
        );
    }

    #[test]
    fn names_and_tokens_in_any_option_are_replaced() {
        hides(
            command_line,
            "ds=nocloud;h=acmehost;i=acmeid;s=http://a.b.example/seed/ \
             inst.repo=https://tok3nabc@repo.acme.example/os?sig=t0psecret&k=t0ps#frag \
             log.target=logs.acme.example,2nd.acme.example:514 rd.ssh=carol@jump.acme.example \
             dyn=\"x https://erin:pw99@h.acme.example/y dave@acmebox\" mypass=\"one two acme\" \
             ntp=time.acmecorp.internal BOOT_IMAGE=/boot/vmlinuz-6.1.0-18.el9.x86_64 \
             initrd=initramfs-5.14.0-362.el9.img systemd.unit=a.b.service init=/sbin/init.d.real.sh \
             root=UUID=aa net.ifnames=0 locale.LANG=en_US.UTF-8 console=ttyS0,115200n8 \
             crashkernel=1G-4G:192M,4G-64G:256M nvme_core.multipath=Y pci=realloc,1@0000:00:1f.0\n",
            &[
                "acmehost", "acmeid", "tok3n", "acme", "t0ps", "frag", "carol", "erin", "pw99",
                "dave", "one two", "jump", "logs", "2nd",
            ],
            &[
                "ds=nocloud;h=",
                "/seed/ inst.repo=https://",
                "/os?sig=",
                ":514 rd.ssh=",
                "BOOT_IMAGE=/boot/vmlinuz-6.1.0-18.el9.x86_64 initrd=initramfs-5.14.0-362.el9.img \
                 systemd.unit=a.b.service init=/sbin/init.d.real.sh root=UUID=aa net.ifnames=0 \
                 locale.LANG=en_US.UTF-8 console=ttyS0,115200n8 \
                 crashkernel=1G-4G:192M,4G-64G:256M nvme_core.multipath=Y pci=realloc,1@0000:00:1f.0",
            ],
        );
    }

    #[test]
    fn hosts_and_users_of_mounts_are_replaced() {
        hides(
            mounts,
            "alice@bighost:/srv/x /a fuse.sshfs rw,user_id=1000 0 0\n\
             mds01.corp.example@tcp:/lus /b lustre rw 0 0\n\
             10.9.8.11@o2ib:10.9.8.12@o2ib1:/s /c lustre rw 0 0\n\
             mon1:6789,mon2:6789:/ /d ceph rw,name=dave,secret=AQDz== 0 0\n\
             //filer3/share /e cifs rw,username=carol,domain=CORPDOM 0 0\n\
             [2001:db8:aa::77]:/exp /f nfs4 rw 0 0\n\
             cgroup /sys/fs/cgroup/systemd cgroup rw,xattr,name=systemd 0 0\n\
             overlay / overlay rw,lowerdir=/var/a:/var/b,upperdir=/var/c 0 0\n",
            &[
                "alice", "bighost", "mds01", "corp", "10.9.8.1", "mon1", "mon2", "dave", "AQDz",
                "filer3", "carol", "CORPDOM", "2001:db8",
            ],
            &[
                "user_id=1000",
                "@tcp:/lus",
                "@o2ib1:/s",
                ":6789:/ /d ceph rw,name=",
                "name=systemd",
                "lowerdir=/var/a:/var/b,upperdir=/var/c",
                "overlay / overlay",
                "/share /e cifs",
            ],
        );
    }

    #[test]
    fn paths_on_other_hosts_are_replaced_and_stay_equal() {
        let text = "fileserver:/export/alice /mnt nfs4 rw,addr=10.0.0.9 0 0\n\
                    36 28 0:44 /bob /srv rw - nfs filer:/export/alice rw\n\
                    /dev/sda1 /export/alice2 ext4 rw 0 0\n";
        let secrets = ["fileserver", "/export/alice ", "/bob", "filer:"];
        hides(mounts, text, &secrets, &[" /mnt nfs4 rw", "/dev/sda1 /export/alice2 ext4"]);
        let redacted = redacted(mounts, text);
        let paths: Vec<&str> =
            redacted.split_whitespace().filter_map(|word| Some(word.split_once(":/")?.1)).collect();
        assert!(paths.len() == 2 && paths[0] == paths[1], "{redacted}");
    }

    #[test]
    fn credentials_and_names_of_the_machine_are_replaced() {
        hides(
            command_line,
            "systemd.set_credential=foo:supersecret systemd.set_credential_binary=a:c2VjcmV0 \
             hostid=deadbeef spl.spl_hostid=0x00bab10c sn=PF1ABCDE androidboot.serialno=XY12Z345 \
             root=/dev/disk/by-id/nvme-Samsung_SSD_S4EVNX0R123456-part2 quiet isolcpus=2-5",
            &["supersecret", "c2Vj", "deadbeef", "00bab10c", "PF1ABCDE", "XY12Z345", "S4EVNX"],
            &[
                "root=/dev/disk/by-id/nvme-Samsung_SSD_",
                "-part2 quiet isolcpus=2-5",
                "spl.spl_hostid=0x",
            ],
        );
    }

    #[test]
    fn people_are_not_told_by_where_things_are_mounted() {
        hides(
            mounts,
            "/dev/sdb1 /home/alice/client-x ext4 rw 0 0\n\
             /dev/sdc1 /run/media/bob/BACKUP\\0402024 vfat rw,uid=1000 0 0\n\
             tmpfs /run/user/4711/gvfs tmpfs rw 0 0\n\
             /dev/sdd1 /media/carol/stick vfat rw 0 0\n\
             /dev/sr0 /media/cdrom iso9660 ro 0 0\n\
             macfs /Users/dave hfs rw 0 0\n\
             /dev/sde1 /root/takeover ext4 rw 0 0\n\
             overlay /x overlay rw,lowerdir=/home/erin/lower:/var/b,upperdir=/home/erin/up 0 0\n\
             /dev/sdf1 /home ext4 rw 0 0\n",
            &[
                "alice", "client-x", "bob", "BACKUP", "4711", "carol", "stick", "dave", "takeover",
                "erin",
            ],
            &[
                "/dev/sdb1 /home/",
                " /run/user/",
                "/gvfs tmpfs",
                "/media/cdrom",
                ":/var/b,upperdir=/home/",
                "/dev/sdf1 /home ext4",
            ],
        );
    }

    #[test]
    fn a_container_is_not_told_by_its_id() {
        let id = "9f8e7d6c5b4a39281706f5e4d3c2b1a0ffeeddccbbaa99887766554433221100";
        let text = format!("12:cpuset:/docker/{id}\n0::/user.slice/user-1000.slice\n");
        hides(control_groups, &text, &[id], &["12:cpuset:/docker/", "/user.slice/user-1000.slice"]);
    }

    mod property {
        use proptest::prelude::*;

        use super::*;

        proptest! {
            #[test]
            fn any_line_keeps_its_length(text in r"[a-z:/@,=\[\]. 0-9;-]{0,60}|\PC{0,40}") {
                for by in [command_line, mounts, control_groups] {
                    redacted(by, &text);
                }
            }
        }
    }
}
