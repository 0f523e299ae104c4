// SPDX-License-Identifier: MIT OR Apache-2.0
//! As much of netlink as a question and its one answer need.
//!
//! ```text
//! length u32 | type u16 | flags u16 | sequence u32 | port u32 | payload      a message
//! length u16 | kind u16 | payload, padded to 4 bytes                         an attribute
//! ```
//!
//! Numbers are in the machine's byte order (Documentation/userspace-api/netlink/intro.rst). Every
//! length is checked against what is there.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};

const HEADER: usize = 16;
const ATTRIBUTE: usize = 4;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `NLM_F_DUMP`.
const DUMP: u16 = 0x300;
/// `NLMSG_DONE`, the end of a dump.
const DONE: u16 = 3;
/// Parts of a dump that are waited for: addresses come a hundred a part and more.
const PARTS: usize = 1024;
/// `NLM_F_ACK`.
const ACKNOWLEDGE: u16 = 4;
/// `NLMSG_ERROR`, which also acknowledges with error 0.
const ERROR: u16 = 2;
/// `NLA_F_NESTED`.
const NESTED: u16 = 0x8000;
/// Kinds without the flags for nesting and byte order (`NLA_TYPE_MASK`).
const KIND: u16 = 0x3fff;
/// The one question of a socket.
const SEQUENCE: u32 = 1;
/// Answers of the families asked here are a few KiB.
const BUFFER: usize = 1 << 16;

/// Asks one question on a fresh socket and returns the payload of the one answer. No protocol is
/// route netlink, whose number is 0.
pub(super) fn ask(protocol: Option<Protocol>, kind: u16, payload: &[u8]) -> Result<Vec<u8>, Errno> {
    let socket = open(protocol)?;
    let address = SocketAddrNetlink::new(0, 0);
    net::sendto(&socket, &message(kind, payload), SendFlags::empty(), &address)?;
    let mut buffer = vec![0; BUFFER];
    // A socket that no one else knows of gets its answer first; a few strays are let pass.
    for _ in 0..8 {
        let (received, length) = net::recv(&socket, &mut *buffer, RecvFlags::TRUNC)?;
        if length > received {
            return Err(Errno::MSGSIZE);
        }
        match find(buffer.get(..received).unwrap_or_default()) {
            Some(answer) => return answer.map(<[u8]>::to_vec),
            None => continue,
        }
    }
    Err(Errno::NOMSG)
}

/// Asks for all that there is of a kind, and returns the payloads of the answers.
pub(super) fn dump(
    protocol: Option<Protocol>,
    kind: u16,
    payload: &[u8],
) -> Result<Vec<Vec<u8>>, Errno> {
    let socket = open(protocol)?;
    let address = SocketAddrNetlink::new(0, 0);
    let message = message_with(kind, REQUEST | DUMP, payload);
    net::sendto(&socket, &message, SendFlags::empty(), &address)?;
    let mut buffer = vec![0; BUFFER];
    let mut answers = Vec::new();
    for _ in 0..PARTS {
        let (received, length) = net::recv(&socket, &mut *buffer, RecvFlags::TRUNC)?;
        if length > received {
            return Err(Errno::MSGSIZE);
        }
        if collect(buffer.get(..received).unwrap_or_default(), &mut answers)? == Told::All {
            return Ok(answers);
        }
    }
    Err(Errno::NOMSG)
}

/// Whether more of a dump is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Some,
    All,
}

/// Adds the payloads of the messages of one part of a dump.
fn collect(mut bytes: &[u8], answers: &mut Vec<Vec<u8>>) -> Result<Told, Errno> {
    while let Some((length, kind)) = number32(bytes, 0).zip(number16(bytes, 4)) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some(payload) = bytes.get(HEADER..length) else { return Err(Errno::BADMSG) };
        match kind {
            DONE => return Ok(Told::All),
            ERROR => return Err(error(payload).unwrap_or(Errno::BADMSG)),
            _ if number32(bytes, 8) == Some(SEQUENCE) => answers.push(payload.to_vec()),
            _ => {}
        }
        bytes = bytes.get(padded(length)..).unwrap_or_default();
    }
    Ok(Told::Some)
}

/// Tells something on a fresh socket and waits until the kernel acknowledges or refuses it. Other
/// answers (`FEATURES_SET` tells what it changed) are let pass.
pub(super) fn tell(protocol: Option<Protocol>, kind: u16, payload: &[u8]) -> Result<(), Errno> {
    let socket = open(protocol)?;
    let address = SocketAddrNetlink::new(0, 0);
    let message = message_with(kind, REQUEST | ACKNOWLEDGE, payload);
    net::sendto(&socket, &message, SendFlags::empty(), &address)?;
    let mut buffer = vec![0; BUFFER];
    for _ in 0..8 {
        let (received, _) = net::recv(&socket, &mut *buffer, RecvFlags::TRUNC)?;
        if let Some(answer) = acknowledged(buffer.get(..received).unwrap_or_default()) {
            return answer;
        }
    }
    Err(Errno::NOMSG)
}

/// What the acknowledgement among these messages says.
fn acknowledged(mut bytes: &[u8]) -> Option<Result<(), Errno>> {
    while bytes.len() >= HEADER {
        let length =
            usize::try_from(number32(bytes, 0)?).ok().filter(|length| *length >= HEADER)?;
        let payload = bytes.get(HEADER..length)?;
        if number32(bytes, 8)? == SEQUENCE && number16(bytes, 4)? == ERROR {
            let is_well = payload.get(..4) == Some(&[0; 4]);
            return if is_well { Some(Ok(())) } else { error(payload).map(Err) };
        }
        bytes = bytes.get(padded(length)..).unwrap_or_default();
    }
    None
}

fn open(protocol: Option<Protocol>) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC;
    let socket = net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    // The kernel answers before `sendto` returns; a broken one must not hang a reader for ever.
    sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_secs(5)))?;
    Ok(socket)
}

fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
    message_with(kind, REQUEST, payload)
}

fn message_with(kind: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + payload.len()).unwrap_or(u32::MAX);
    let mut message = Vec::with_capacity(HEADER + payload.len());
    message.extend(length.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend(SEQUENCE.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend(payload);
    message
}

/// The payload of the first message that answers the question, or its error.
pub(super) fn find(mut bytes: &[u8]) -> Option<Result<&[u8], Errno>> {
    while bytes.len() >= HEADER {
        let length = usize::try_from(number32(bytes, 0)?).ok()?;
        let kind = number16(bytes, 4)?;
        let sequence = number32(bytes, 8)?;
        let payload = bytes.get(HEADER..length)?;
        if sequence == SEQUENCE {
            return match kind {
                ERROR => error(payload).map(Err),
                _ => Some(Ok(payload)),
            };
        }
        bytes = bytes.get(padded(length)..).unwrap_or_default();
    }
    None
}

/// A negative error number; 0 is an acknowledgement and no answer.
fn error(payload: &[u8]) -> Option<Errno> {
    let number = i32::from_ne_bytes(payload.get(..4)?.try_into().ok()?);
    let number = number.checked_neg().filter(|number| (1..4096).contains(number))?;
    Some(Errno::from_raw_os_error(number))
}

fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Appends an attribute.
pub(super) fn put(message: &mut Vec<u8>, kind: u16, payload: &[u8]) {
    let length = u16::try_from(ATTRIBUTE + payload.len()).unwrap_or(u16::MAX);
    message.extend(length.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(payload);
    message.resize(padded(message.len()), 0);
}

/// Appends an attribute made of attributes.
pub(super) fn put_nested(message: &mut Vec<u8>, kind: u16, payload: &[u8]) {
    put(message, kind | NESTED, payload);
}

/// A text as netlink sends it: with a NUL at its end.
pub(super) fn text(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// One attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attribute<'a> {
    /// Its kind, flags gone.
    pub(super) kind: u16,
    /// What it holds.
    pub(super) payload: &'a [u8],
}

impl<'a> Attribute<'a> {
    /// A number of 1, 2 or 4 bytes.
    pub(super) fn number(self) -> Option<u32> {
        match self.payload {
            [byte] => Some(u32::from(*byte)),
            [_, _] => number16(self.payload, 0).map(u32::from),
            [_, _, _, _] => number32(self.payload, 0),
            _ => None,
        }
    }

    /// A text up to its NUL.
    pub(super) fn text(self) -> Option<&'a str> {
        let end = self.payload.iter().position(|byte| *byte == 0).unwrap_or(self.payload.len());
        std::str::from_utf8(self.payload.get(..end)?).ok()
    }

    /// The attributes inside.
    pub(super) fn inside(self) -> Attributes<'a> {
        Attributes(self.payload)
    }
}

/// Attributes one after another; ends at the first that is longer than what is left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attributes<'a>(pub(super) &'a [u8]);

impl<'a> Attributes<'a> {
    /// The first attribute of a kind.
    pub(super) fn find(mut self, kind: u16) -> Option<Attribute<'a>> {
        Iterator::find(&mut self, |attribute| attribute.kind == kind)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(number16(self.0, 0)?);
        let kind = number16(self.0, 2)? & KIND;
        let Some(payload) = self.0.get(ATTRIBUTE..length) else {
            self.0 = &[];
            return None;
        };
        self.0 = self.0.get(padded(length)..).unwrap_or_default();
        Some(Attribute { kind, payload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_put_is_found() {
        let mut inner = Vec::new();
        put(&mut inner, 2, &text("eth0"));
        put(&mut inner, 3, &[7]);
        let mut bytes = Vec::new();
        put_nested(&mut bytes, 1, &inner);
        put(&mut bytes, 9, &77_u32.to_ne_bytes());
        let header = Attributes(&bytes).find(1).unwrap();
        assert_eq!(header.inside().find(2).unwrap().text(), Some("eth0"));
        assert_eq!(header.inside().find(3).unwrap().number(), Some(7));
        assert_eq!(Attributes(&bytes).find(9).unwrap().number(), Some(77));
        assert_eq!(Attributes(&bytes).find(4), None);
    }

    #[test]
    fn an_error_is_told_from_an_answer() {
        let denied = message(ERROR, &(-95_i32).to_ne_bytes());
        assert_eq!(find(&denied), Some(Err(Errno::OPNOTSUPP)));
        assert_eq!(find(&message(ERROR, &0_i32.to_ne_bytes())), None);
        assert_eq!(find(&message(0x14, b"abcd")), Some(Ok(&b"abcd"[..])));
        let mut stray = message(0x14, b"xyz");
        stray[8] = 99;
        stray.push(0);
        stray.extend(message(0x14, b"mine"));
        assert_eq!(find(&stray), Some(Ok(&b"mine"[..])));
    }

    #[test]
    fn an_acknowledgement_is_found_behind_an_answer() {
        let mut bytes = message(0x14, b"abc");
        bytes.push(0);
        assert_eq!(acknowledged(&bytes), None);
        bytes.extend(message(ERROR, &0_i32.to_ne_bytes()));
        assert_eq!(acknowledged(&bytes), Some(Ok(())));
        let refused = message(ERROR, &(-22_i32).to_ne_bytes());
        assert_eq!(acknowledged(&refused), Some(Err(Errno::INVAL)));
    }

    #[test]
    fn a_dump_is_collected_to_its_end() {
        let mut part = message(20, b"abcd");
        part.extend(message(20, b"efgh"));
        let mut answers = Vec::new();
        assert_eq!(collect(&part, &mut answers), Ok(Told::Some));
        assert_eq!(answers, [b"abcd", b"efgh"]);
        assert_eq!(collect(&message(DONE, &[0; 4]), &mut answers), Ok(Told::All));
        let denied = message(ERROR, &(-1_i32).to_ne_bytes());
        assert_eq!(collect(&denied, &mut answers), Err(Errno::PERM));
        assert_eq!(collect(&part[..30], &mut answers), Err(Errno::BADMSG));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (find(&bytes), acknowledged(&bytes), collect(&bytes, &mut Vec::new()));
            for attribute in Attributes(&bytes) {
                let _ = (attribute.number(), attribute.text(), attribute.inside().count());
            }
        }
    }
}
