// SPDX-License-Identifier: MIT OR Apache-2.0
//! No personal details in what we ship: hardware addresses, public IP addresses, mail addresses,
//! UUIDs, home folders.

use anyhow::Result;

use super::Complaints;
use crate::project;

/// What looks like somebody's and is nobody's, with the reason.
const NOBODYS: [(&str, &str); 4] = [
    ("8be4df61-93ca-11d2-aa0d-00e098032b8c", "EFI_GLOBAL_VARIABLE, UEFI specification 3.3"),
    ("debian-kernel@lists.debian.org", "a list, in the version text of every Debian kernel"),
    ("6.1.192.1", "a kernel's version in tests: four numbers that are no address"),
    ("2.19.1.4", "a BIOS version in tests: four numbers that are no address"),
];

/// People of examples, as in papers on cryptography.
const EXAMPLES: [&str; 4] = ["alice", "bob", "carol", "erin"];

pub(super) fn check() -> Result<Complaints> {
    let mut complaints = Complaints::new();
    for file in project::files()?.iter().filter(|file| !file.ends_with("Cargo.lock")) {
        let Some(text) = project::text(file) else { continue };
        for (number, line) in text.lines().enumerate() {
            let found = line.split(|c: char| !is_part_of_detail(c)).find_map(detail);
            if let Some(found) = found {
                complaints.push(format!("{}:{}: {found}", file.display(), number + 1));
            }
        }
    }
    Ok(complaints)
}

fn is_part_of_detail(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, ':' | '.' | '-' | '@' | '_' | '/')
}

fn detail(word: &str) -> Option<String> {
    let word = word.trim_matches(|c: char| matches!(c, ':' | '.' | '-' | '/'));
    let kind = match word {
        _ if NOBODYS.iter().any(|(known, _)| *known == word) => return None,
        _ if is_mac(word) => "hardware address",
        _ if is_public_ip(word) => "public IP address",
        _ if is_mail(word) => "mail address",
        _ if is_uuid(word) => "UUID",
        _ if home(word).is_some_and(|owner| !EXAMPLES.contains(&owner)) => "home folder",
        _ => return None,
    };
    Some(format!("{kind} {word}"))
}

/// Whose home folder a path leads through.
fn home(word: &str) -> Option<&str> {
    let owner = word.strip_prefix("home/").or_else(|| Some(word.split_once("/home/")?.1))?;
    Some(owner.split('/').next().unwrap_or(owner))
}

/// Six octets. Locally administered ones (bit 1 of the first), all-zero and all-one are nobody's.
fn is_mac(word: &str) -> bool {
    let octets: Vec<_> = word.split(':').collect();
    let octet = |text: &&str| text.len() == 2 && u8::from_str_radix(text, 16).is_ok();
    let first = octets.first().and_then(|text| u8::from_str_radix(text, 16).ok()).unwrap_or(2);
    octets.len() == 6
        && octets.iter().all(octet)
        && first & 2 == 0
        && octets.iter().any(|text| *text != "00")
}

/// Four numbers that are neither private, loopback, link-local, multicast nor set aside for
/// documentation (RFC 5737).
fn is_public_ip(word: &str) -> bool {
    let Ok(ip) = word.parse::<std::net::Ipv4Addr>() else { return false };
    let [a, b, ..] = ip.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let nobody = ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_multicast();
    !(nobody || shared || ip.is_documentation() || ip.is_broadcast() || a == 0 || a >= 240)
}

fn is_mail(word: &str) -> bool {
    let Some((user, host)) = word.split_once('@') else { return false };
    let reserved = [".example", "example.com", "example.org", ".invalid", ".service"];
    let host = host.trim_end_matches('.');
    let domain = host.rsplit_once('.').is_some_and(|(_, top)| {
        top.len() >= 2 && top.bytes().all(|byte| byte.is_ascii_lowercase())
    });
    !user.is_empty()
        && domain
        && !host.contains(':')
        && !reserved.iter().any(|end| host.ends_with(end))
}

fn is_uuid(word: &str) -> bool {
    let parts: Vec<_> = word.split('-').collect();
    let lengths: Vec<_> = parts.iter().map(|part| part.len()).collect();
    let digits =
        word.bytes().filter(u8::is_ascii_hexdigit).collect::<std::collections::BTreeSet<_>>();
    lengths == [8, 4, 4, 4, 12]
        && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
        && digits.len() > 6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_somebodys_is_found() {
        // Put together, so that this file passes its own check.
        let mac = ["00", "1b", "21", "aa", "bb", "cc"].join(":");
        let uuid = ["4c4c4544", "0037", "4a10", "8053", "b7c04f4e3532"].join("-");
        let ip = ["93", "184", "216", "34"].join(".");
        for word in [mac.as_str(), &uuid, &ip, &["someone", "corp.com"].join("@")] {
            assert!(detail(word).is_some(), "{word}");
        }
        for word in ["02:00:00:00:00:01", "192.0.2.7", "127.0.0.1", "a@b.example", "0000:3e:00.0"] {
            assert!(detail(word).is_none(), "{word}");
        }
    }
}
