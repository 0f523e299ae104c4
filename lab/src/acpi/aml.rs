// SPDX-License-Identifier: MIT OR Apache-2.0
//! The few words of ACPI machine language that processor power states need (ACPI 6.5, chapter 20).

/// `Scope (path) { content }`; the path is absolute, its segments have four characters.
pub(super) fn scope(path: &[String], content: &[u8]) -> Vec<u8> {
    let mut inner = vec![b'\\'];
    match path.len() {
        1 => {}
        2 => inner.push(0x2e),
        many => inner.extend([0x2f, u8::try_from(many).unwrap_or(u8::MAX)]),
    }
    inner.extend(path.iter().flat_map(|segment| segment.bytes()));
    inner.extend(content);
    with_length(&[0x10], &inner)
}

/// `Name (name, value)`.
pub(super) fn name(name: &str, value: &[u8]) -> Vec<u8> {
    [&[0x08], name.as_bytes(), value].concat()
}

/// `Package () { elements }`.
pub(super) fn package(elements: &[Vec<u8>]) -> Vec<u8> {
    let mut inner = vec![u8::try_from(elements.len()).unwrap_or(u8::MAX)];
    inner.extend(elements.iter().flatten());
    with_length(&[0x12], &inner)
}

/// An integer, in the shortest form.
pub(super) fn integer(value: u32) -> Vec<u8> {
    let [a, b, c, d] = value.to_le_bytes();
    match value {
        0 | 1 => vec![a],
        2..=0xff => vec![0x0a, a],
        0x100..=0xffff => vec![0x0b, a, b],
        _ => vec![0x0c, a, b, c, d],
    }
}

/// An address space of a register.
#[derive(Clone, Copy)]
pub(super) enum Space {
    /// I/O ports.
    SystemIo = 1,
    /// What the processor itself does.
    FixedHardware = 0x7f,
}

/// `ResourceTemplate () { Register (space, bits, 0, address) }` (6.4.3, Generic Register).
pub(super) fn register(space: Space, bits: u8, address: u64) -> Vec<u8> {
    let mut resource = vec![0x82, 12, 0, space as u8, bits, 0, 0];
    resource.extend(address.to_le_bytes());
    resource.extend([0x79, 0]);
    let mut inner = integer(u32::try_from(resource.len()).unwrap_or(u32::MAX));
    inner.extend(resource);
    with_length(&[0x11], &inner)
}

/// An opcode, the package length, the content. The length counts itself: one byte below 64, else
/// four bits and up to three bytes more (20.2.4).
fn with_length(opcode: &[u8], content: &[u8]) -> Vec<u8> {
    let mut length = Vec::new();
    if content.len() < 63 {
        length.extend(u8::try_from(content.len() + 1));
    } else {
        let more = (1..=3).find(|more| content.len() + 1 + more < 1 << (4 + 8 * more)).unwrap_or(3);
        let total = content.len() + 1 + more;
        let low = u8::try_from(total & 0xf).unwrap_or_default();
        length.push(u8::try_from(more << 6).unwrap_or_default() | low);
        length.extend((total >> 4).to_le_bytes().into_iter().take(more));
    }
    [opcode, &length, content].concat()
}
