// SPDX-License-Identifier: MIT OR Apache-2.0
//! A folder of a root, with typed short-hands for its files.

use std::str::FromStr;

use machine::{Fact, Why};

use crate::Root;

/// A folder below a root: `Dir::new(root, "/sys/class/net/eth0").parse::<u32>("mtu")`.
#[derive(Clone)]
pub struct Dir<'a> {
    root: &'a dyn Root,
    path: String,
}

impl std::fmt::Debug for Dir<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Dir").field(&self.path).finish()
    }
}

impl<'a> Dir<'a> {
    /// The folder at `path`, which need not exist.
    pub fn new(root: &'a dyn Root, path: impl Into<String>) -> Self {
        Self { root, path: path.into() }
    }

    /// The root it belongs to.
    pub fn root(&self) -> &'a dyn Root {
        self.root
    }

    /// Its path from the root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path of `name` below it.
    pub fn join(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    /// The folder `name` below it.
    #[must_use]
    pub fn sub(&self, name: &str) -> Self {
        Self { root: self.root, path: self.join(name) }
    }

    /// A file's text, white space and NUL padding at both ends gone.
    pub fn text(&self, name: &str) -> Fact<String> {
        text(self.root, &self.join(name))
    }

    /// A file's text, and its permission bits.
    pub fn text_with_mode(&self, name: &str) -> (Fact<String>, Fact<u32>) {
        let (bytes, mode) = self.root.read_with_mode(&self.join(name));
        (bytes.and_then(trimmed), mode)
    }

    /// A file's text as a value.
    pub fn parse<T: FromStr>(&self, name: &str) -> Fact<T> {
        let text = self.text(name)?;
        text.parse().map_err(|_| Why::unparsed(&text))
    }

    /// A file's text as a hexadecimal number, with or without `0x`.
    pub fn hex(&self, name: &str) -> Fact<u32> {
        let text = self.text(name)?;
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain
            .then(|| u32::from_str_radix(digits, 16).ok())
            .flatten()
            .ok_or_else(|| Why::unparsed(&text))
    }

    /// Names in it; nothing where it is missing.
    pub fn list(&self) -> Fact<Vec<String>> {
        self.root.list(&self.path)
    }

    /// The last part of a link's target: `driver -> ../../bus/pci/drivers/nvme` gives `nvme`. A link
    /// to itself names nothing.
    pub fn link_name(&self, name: &str) -> Fact<String> {
        let target = self.root.link(&self.join(name))?;
        let last = target.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if target == name {
            return Err(Why::Failed("too many links".to_owned()));
        }
        if last.is_empty() { Err(Why::unparsed(&target)) } else { Ok(last.to_owned()) }
    }

    /// Its path with links resolved.
    pub fn resolve(&self) -> Fact<String> {
        self.root.resolve(&self.path)
    }
}

/// A file's text, white space and NUL padding at both ends gone.
///
/// # Errors
/// Text that is not UTF-8 is [`Why::Unparsed`].
pub fn text(root: &dyn Root, path: &str) -> Fact<String> {
    trimmed(root.read(path)?)
}

fn trimmed(bytes: Vec<u8>) -> Fact<String> {
    let text = String::from_utf8(bytes)
        .map_err(|error| Why::unparsed(&String::from_utf8_lossy(error.as_bytes())))?;
    Ok(text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryRoot;

    #[test]
    fn a_link_to_itself_names_nothing() {
        let mut root = MemoryRoot::new();
        root.symlink("/a/driver", "driver").symlink("/b/driver", "../../drivers/driver");
        let name = |folder: &str| Dir::new(&root, folder).link_name("driver");
        assert_eq!(name("/a"), Err(Why::Failed("too many links".to_owned())));
        assert_eq!(name("/b"), Ok("driver".to_owned()));
    }
}
