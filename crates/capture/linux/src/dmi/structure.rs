// SPDX-License-Identifier: MIT OR Apache-2.0
//! One SMBIOS structure: a formatted area, then strings, then a double NUL.

/// A structure of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Structure<'a> {
    /// Its type.
    pub(super) kind: u8,
    /// The formatted area, the four bytes of its header included, so that offsets are those of
    /// the specification.
    area: &'a [u8],
    /// What follows the area.
    strings: &'a [u8],
}

/// The structures of a table; ends at type 127, at the end, and at a length that cannot be.
pub(super) struct Structures<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Structures<'a> {
    type Item = Structure<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, length) = (*self.0.first()?, usize::from(*self.0.get(1)?));
        let area = self.0.get(..length).filter(|area| area.len() >= 4)?;
        let strings = self.0.get(length..)?;
        // A structure without strings ends in two NULs too.
        let end = strings.windows(2).position(|pair| pair == [0, 0]);
        self.0 = end.and_then(|end| strings.get(end + 2..)).unwrap_or_default();
        let strings = strings.get(..end.unwrap_or(strings.len()))?;
        (kind != 127).then_some(Structure { kind, area, strings })
    }
}

impl Structure<'_> {
    /// The formatted area, its header included.
    pub(super) fn area(&self) -> &[u8] {
        self.area
    }

    /// A byte of the formatted area; `None` in an older, shorter structure.
    pub(super) fn byte(&self, offset: usize) -> Option<u8> {
        self.area.get(offset).copied()
    }

    /// A little-endian word.
    pub(super) fn word(&self, offset: usize) -> Option<u16> {
        self.area.get(offset..offset + 2)?.try_into().ok().map(u16::from_le_bytes)
    }

    /// A little-endian double word.
    pub(super) fn double(&self, offset: usize) -> Option<u32> {
        self.area.get(offset..offset + 4)?.try_into().ok().map(u32::from_le_bytes)
    }

    /// The string whose number stands at an offset, white space at its ends gone; `None` for
    /// number 0 and for a number beyond the strings.
    pub(super) fn string(&self, offset: usize) -> Option<String> {
        let number = usize::from(self.byte(offset)?).checked_sub(1)?;
        let bytes = self.strings.split(|byte| *byte == 0).nth(number)?;
        let text: String =
            String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).collect();
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A structure with `body` after its header.
    pub(in super::super) fn structure(kind: u8, body: &[u8], strings: &[&str]) -> Vec<u8> {
        let mut bytes = vec![kind, u8::try_from(body.len() + 4).unwrap(), 0, 0];
        bytes.extend(body);
        for string in strings {
            bytes.extend(string.as_bytes());
            bytes.push(0);
        }
        if strings.is_empty() {
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn strings_are_counted_from_one() {
        let table =
            [structure(9, &[1, 2, 0, 9], &["PCIe 1", "  x "]), structure(8, &[1], &[])].concat();
        let all: Vec<_> = Structures(&table).collect();
        assert_eq!(all.len(), 2);
        let text = |offset| all[0].string(offset);
        assert_eq!(text(4).as_deref(), Some("PCIe 1"));
        assert_eq!(text(5).as_deref(), Some("x"));
        assert_eq!((text(6), text(7), text(8)), (None, None, None));
        assert_eq!(all[1].string(4), None);
    }

    #[test]
    fn lengths_that_cannot_be_end_the_table() {
        assert_eq!(Structures(&[17, 3, 0, 0, 0, 0]).count(), 0);
        assert_eq!(Structures(&[17, 200, 0, 0, 0, 0]).count(), 0);
        assert_eq!(Structures(&[17]).count(), 0);
        let cut = structure(1, &[1], &["no end"]);
        assert_eq!(Structures(&cut[..cut.len() - 2]).count(), 1);
    }

    proptest! {
        #[test]
        fn any_bytes_are_walked(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for structure in Structures(&bytes) {
                let _ = super::super::memory::module(&structure);
                let _ = super::super::slot::slot(&structure);
                let _ = structure.string(4);
            }
        }
    }
}
