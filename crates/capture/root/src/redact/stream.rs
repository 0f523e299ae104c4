// SPDX-License-Identifier: MIT OR Apache-2.0
//! Large files, replaced a piece at a time. A piece ends at the end of a line.

use std::io::{self, BufRead, Read};

use super::Redactor;

/// Bytes of a piece; a longer line is taken apart.
const PIECE: usize = 1 << 20;

/// A reader that replaces what another one reads.
pub(super) struct Pieces<'a> {
    redactor: &'a mut Redactor,
    path: String,
    from: Box<dyn BufRead + 'a>,
    piece: Vec<u8>,
    given: usize,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(redactor: &'a mut Redactor, path: &str, from: Box<dyn BufRead + 'a>) -> Self {
        Self { redactor, path: path.to_owned(), from, piece: Vec::new(), given: 0 }
    }

    fn next(&mut self) -> io::Result<()> {
        self.piece.clear();
        self.given = 0;
        while self.piece.len() < PIECE {
            let room = (2 * PIECE - self.piece.len()) as u64;
            if (&mut self.from).take(room).read_until(b'\n', &mut self.piece)? == 0 {
                break;
            }
        }
        self.redactor.content(&self.path, &mut self.piece);
        Ok(())
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.given == self.piece.len() {
            self.next()?;
        }
        let rest = self.piece.get(self.given..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}
