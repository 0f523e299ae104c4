// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each attack by itself, with the exact message.

use std::io::Write;

use super::*;
use crate::Root;

/// One header block and its content.
fn entry(kind: u8, name: &[u8], link: &[u8], content: &[u8]) -> Vec<u8> {
    sized(kind, name, link, content, content.len() as u64)
}

fn sized(kind: u8, name: &[u8], link: &[u8], content: &[u8], size: u64) -> Vec<u8> {
    let mut header = ::tar::Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(link);
    header.set_entry_type(::tar::EntryType::new(kind));
    header.set_mode(0o640);
    header.set_size(size);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn file(name: &str, content: &[u8]) -> Vec<u8> {
    entry(b'0', name.as_bytes(), b"", content)
}

fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = entries.concat();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

fn small() -> Limits {
    Limits {
        bytes: 1 << 20,
        kept_bytes: 1 << 19,
        entries: 20,
        path_bytes: 60,
        depth: 8,
        extra_bytes: 2048,
        ratio: 100,
        ratio_after: 1 << 18,
    }
}

fn message(bytes: &[u8]) -> String {
    read(bytes, &small()).map_or_else(|error| error.to_string(), |_| "read".to_owned())
}

#[test]
fn every_packing_is_read_and_told_by_its_first_bytes() {
    let plain = archive(&[file("sys/class/x", b"1\n"), entry(b'2', b"sys/y", b"class/x", b"")]);
    let parts = [gzip(&plain[..700]), gzip(&plain[700..])].concat();
    for packed in [plain.clone(), gzip(&plain), xz(&plain), zst(&plain), parts] {
        let unpacked = read(packed.as_slice(), &small()).unwrap();
        assert_eq!(unpacked.root.read("/sys/y").unwrap(), b"1\n");
        assert_eq!(unpacked.root.mode("/sys/y").unwrap(), 0o640);
        assert_eq!((unpacked.entries, unpacked.skipped), (2, 0));
    }
}

#[test]
fn attacks_are_refused_by_name() {
    let long = "n".repeat(70);
    let long_message = format!(r#"entry "{long}" has a path of 70 bytes"#);
    let pax = |text: &str| entry(b'x', b"pax", b"", text.as_bytes());
    let cases: Vec<(Vec<Vec<u8>>, &str)> = vec![
        (vec![file("../etc/passwd", b"x")], r#"entry "../etc/passwd" climbs out with "..""#),
        (vec![file("sys/../../x", b"x")], r#"entry "sys/../../x" climbs out with "..""#),
        (vec![file("/etc/passwd", b"x")], r#"entry "/etc/passwd" has an absolute path"#),
        (
            vec![entry(b'2', b"sys/a", b"/sys/b", b""), file("sys/a/passwd", b"x")],
            r#"entry "sys/a/passwd" leads through the link "sys/a""#,
        ),
        (
            vec![entry(b'1', b"sys/a", b"/etc/shadow", b"")],
            r#"entry "sys/a" is a hard link to "/etc/shadow", which is no file before it in the archive"#,
        ),
        (
            vec![entry(b'1', b"sys/a", b"sys/../../b", b"")],
            r#"entry "sys/a" is a hard link to "sys/../../b", which is no file before it in the archive"#,
        ),
        (vec![entry(b'3', b"sys/tty", b"", b"")], r#"entry "sys/tty" is a character device"#),
        (vec![entry(b'4', b"sys/sda", b"", b"")], r#"entry "sys/sda" is a block device"#),
        (vec![entry(b'6', b"sys/fifo", b"", b"")], r#"entry "sys/fifo" is a FIFO"#),
        (vec![entry(b'S', b"sys/hole", b"", b"")], r#"entry "sys/hole" is a sparse file"#),
        (
            vec![pax("22 GNU.sparse.major=1\n"), file("sys/hole", b"")],
            r#"entry "sys/hole" is a sparse file"#,
        ),
        (vec![entry(b'Q', b"sys/q", b"", b"")], r#"entry "sys/q" is of the unknown type 'Q'"#),
        (vec![entry(b'L', b"long", b"", long.as_bytes()), file("x", b"")], &long_message),
        (vec![file("a/b/c/d/e/f/g/h/i", b"")], r#"entry "a/b/c/d/e/f/g/h/i" lies 9 folders deep"#),
        (
            vec![entry(b'x', b"pax", b"", &[b'a'; 4000]), file("x", b"")],
            r#"entry "pax" has an extended header of 4000 bytes"#,
        ),
        (
            vec![pax("nonsense\n"), file("x", b"")],
            r#"entry "pax" has an extended header that contradicts itself"#,
        ),
        (
            vec![pax("13 size=9999\n"), file("x", b"1")],
            r#"entry "x" has an extended header that contradicts itself"#,
        ),
        (
            vec![sized(b'0', b"endless", b"", b"", 1 << 32)],
            r#"the archive unpacks to more than 1048576 bytes (at or after entry "endless", number 1, 512 bytes unpacked)"#,
        ),
        (
            (0..21).map(|i| file(&format!("sys/{i}"), b"")).collect(),
            r#"the archive holds more than 20 entries (at or after entry "sys/20", number 21, 10752 bytes unpacked)"#,
        ),
    ];
    for (entries, expected) in cases {
        assert_eq!(message(&archive(&entries)), expected);
        assert_eq!(message(&zst(&archive(&entries))), expected);
    }
}

#[test]
fn links_out_of_the_machine_are_refused() {
    for (name, target) in [("sys/out", "/etc/passwd"), ("m/proc/mounts", "../../../etc/mtab")] {
        let link = entry(b'2', name.as_bytes(), target.as_bytes(), b"");
        let expected = format!("entry {name:?} is a link to {target:?}, out of the machine");
        assert_eq!(message(&archive(&[link])), expected);
    }
}

#[test]
fn bombs_are_refused() {
    let zeros = archive(&[file("sys/zeros", &vec![0; 900 << 10])]);
    let ratio = "the archive unpacks to more than 100 times its size, as no machine's facts do";
    for packed in [gzip(&zeros), xz(&zeros), zst(&zeros)] {
        assert!(message(&packed).starts_with(ratio), "{}", message(&packed));
    }
    let mut tail = archive(&[file("sys/x", b"")]);
    tail.resize(2 << 20, 0);
    assert!(message(&tail).starts_with("the archive unpacks to more than 1048576 bytes"));
    let noise = |seed: u32| -> Vec<u8> {
        (0..200_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) ^ seed).to_le_bytes()[2]).collect()
    };
    let many: Vec<_> = (0..4).map(|i| file(&format!("sys/{i}"), &noise(i * 77_777_777))).collect();
    assert!(message(&archive(&many)).starts_with("the archive needs more than 524288 bytes"));
}

#[test]
fn what_follows_the_end_is_no_part_of_it() {
    let plain = archive(&[file("sys/a", b"a")]);
    let twice = [&plain[..], &plain[..]].concat();
    let goes_on = r#"the archive goes on behind its end (at or after entry "sys/a", number 1"#;
    for bytes in [&twice, &zst(&twice), &[&plain[..], b"rubbish"].concat()] {
        assert!(message(bytes).starts_with(goes_on), "{}", message(bytes));
    }
    assert_eq!(message(&[&plain[..], &[0; 9000]].concat()), "read");
}

#[test]
fn a_cut_archive_names_where() {
    let plain = archive(&[file("sys/a", &[b'a'; 700]), file("sys/b", b"b")]);
    for len in [512, 800, 1536, 1700, 2047] {
        let message = message(&plain[..len]);
        assert!(message.starts_with("the archive is cut at or after entry"), "{len}: {message}");
    }
    assert_eq!(message(&plain[..3072]), "read");
    assert_eq!(
        message(&plain[..2560]),
        r#"the archive is cut at or after entry "sys/b", number 2, 2560 bytes unpacked"#
    );
    for packed in [gzip(&plain), xz(&plain), zst(&plain)] {
        for len in 6..packed.len() {
            let message = message(&packed[..len]);
            assert!(message.starts_with("the archive is "), "{len}: {message}");
        }
    }
}

#[test]
fn what_is_no_archive_says_so() {
    let unknown = "it is no archive: neither tar, nor tar packed with gzip, xz or zstd";
    assert_eq!(message(b""), unknown);
    assert_eq!(message(b"{}"), unknown);
    assert_eq!(message(&[0; 4096]), unknown);
    assert_eq!(message(&zst(b"hello")), "the archive is cut before its first entry");
    let mut bad = archive(&[file("sys/a", b"a"), file("sys/b", b"b")]);
    bad[1024] ^= 1;
    assert_eq!(
        message(&bad),
        "the archive is damaged at or after entry \"sys/a\", number 1, 1536 bytes unpacked: a tar \
         header's checksum is wrong"
    );
}

#[test]
fn harmless_oddities_are_read() {
    let bytes = archive(&[
        file("./sys/a", b"first"),
        file("sys/a", b"last"),
        entry(b'1', b"sys/hard", b"./sys/a", b""),
        entry(b'0', b"sys/\xff", b"", b"skipped"),
        entry(b'2', b"sys/out", b"/sys/a", b""),
        entry(b'2', b"proc/1/cwd", b"/var/empty", b""),
        entry(b'2', b"etc/alternatives/vi", b"/usr/bin/vi", b""),
        entry(b'2', b"net/eth0", b"../../devices/eth0", b""),
        entry(b'g', b"global", b"", b"12 path=abc\n"),
        entry(b'x', b"pax", b"", b"17 path=sys/long\n"),
        file("short", b"long"),
        entry(b'5', b"sys/folder/", b"", b""),
    ]);
    let unpacked = read(bytes.as_slice(), &small()).unwrap();
    let root = unpacked.root;
    assert_eq!(unpacked.skipped, 1);
    assert_eq!(root.read("/sys/a").unwrap(), b"last");
    assert_eq!(root.read("/sys/hard").unwrap(), b"last");
    assert_eq!(root.read("/sys/out").unwrap(), b"last");
    assert_eq!(root.read("/etc/alternatives/vi"), Err(machine::Why::Absent));
    assert_eq!(root.read("/sys/long").unwrap(), b"long");
    assert_eq!(root.list("/sys").unwrap(), ["a", "folder", "hard", "long", "out"]);
}

mod property {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
            let _ = read(bytes.as_slice(), &small());
            let _ = read(zst(&bytes).as_slice(), &small());
        }

        #[test]
        fn any_change_of_a_byte_is_read_or_refused(
            at in 0_usize..4096, byte in any::<u8>(), mend in any::<bool>(),
        ) {
            let mut bytes = archive(&[
                entry(b'x', b"pax", b"", b"17 path=sys/long\n"),
                file("short", b"long"),
                entry(b'2', b"sys/out", b"../a", b""),
                entry(b'L', b"long", b"", b"sys/other"),
                file("x", b"y"),
            ]);
            let at = at % bytes.len();
            bytes[at] = byte;
            if mend {
                let block = at / 512 * 512;
                let header = &mut bytes[block..block + 512];
                let mut copy = ::tar::Header::new_old();
                copy.as_mut_bytes().copy_from_slice(header);
                copy.set_cksum();
                header.copy_from_slice(copy.as_bytes());
            }
            let _ = read(bytes.as_slice(), &small());
        }
    }
}
