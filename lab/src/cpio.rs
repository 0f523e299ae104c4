// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cpio archive in the form that Linux unpacks into its first root file system (`newc`,
//! Documentation/driver-api/early-userspace/buffer-format.rst).

/// An archive that grows.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;

impl Archive {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn folder(&mut self, name: &str) {
        self.entry(name, FOLDER | 0o755, &[]);
    }

    pub(crate) fn file(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.entry(name, FILE | mode, content);
    }

    /// The archive with its end mark, padded so that another may follow.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.pad(512);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        // Inode, mode, owner, group, links, time, size, four device numbers, name's size, checksum.
        let (size, name_size) = (length(content.len()), length(name.len() + 1));
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend(b"070701");
        self.bytes.extend(fields.iter().flat_map(|field| format!("{field:08X}").into_bytes()));
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.pad(4);
        self.bytes.extend(content);
        self.pad(4);
    }

    fn pad(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_laid_out_as_the_kernel_reads_it() {
        let mut archive = Archive::new();
        archive.file("init", 0o755, b"hello");
        let bytes = archive.finish();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("070701" /* magic */));
        assert_eq!(&text[14..22], "000081ED", "a regular file, 0755");
        assert_eq!(&text[54..62], "00000005", "five bytes");
        assert_eq!(&text[110..115], "init\0");
        assert_eq!(&text[116..121], "hello", "the name is padded to four bytes");
        assert!(text.contains("TRAILER!!!") && bytes.len().is_multiple_of(512));
    }
}
