// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compression on a thread of its own: a large capture is made of 60 MB of text, and replacing
//! secrets in it takes as long as packing it does.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// zstd's own default: a capture of a large server is a few hundred KiB.
const LEVEL: i32 = 3;

/// Bytes handed over at once.
const PAGE: usize = 128 << 10;

/// Pages that may wait, so that a slow disk does not fill the memory.
const WAITING: usize = 4;

/// What takes the bytes to be packed.
pub(super) struct Input {
    page: Vec<u8>,
    to: SyncSender<Vec<u8>>,
}

/// Packs what `fill` writes into `out`. The failure of `out` is told before the one of `fill`,
/// whose cause it is.
pub(super) fn pack<T>(
    out: impl Write + Send,
    fill: impl FnOnce(Input) -> io::Result<T>,
) -> io::Result<T> {
    let (to, pages) = sync_channel(WAITING);
    thread::scope(|scope| {
        let packing = scope.spawn(move || compress(&pages, out));
        let filled = fill(Input { page: Vec::with_capacity(PAGE), to });
        packing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        filled
    })
}

fn compress(pages: &Receiver<Vec<u8>>, out: impl Write) -> io::Result<()> {
    let mut encoder = zstd::Encoder::new(out, LEVEL)?;
    for page in pages {
        encoder.write_all(&page)?;
    }
    encoder.finish()?.flush()
}

impl Write for Input {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.page.extend_from_slice(bytes);
        if self.page.len() >= PAGE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let page = std::mem::replace(&mut self.page, Vec::with_capacity(PAGE));
        self.to.send(page).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn noise(count: u32) -> Vec<u8> {
        (0..count).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
    }

    #[test]
    fn what_is_packed_comes_back() {
        for count in [0, 1, 200_000] {
            let (bytes, mut packed) = (noise(count), Vec::new());
            let fill = |mut input: Input| {
                bytes.chunks(1000).try_for_each(|chunk| input.write_all(chunk))?;
                input.flush()
            };
            pack(&mut packed, fill).unwrap();
            assert_eq!(zstd::decode_all(packed.as_slice()).unwrap(), bytes);
        }
    }

    #[test]
    fn a_full_disk_is_named() {
        let bytes = noise(1_000_000);
        let failed = pack(Full, |mut input| input.write_all(&bytes));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
