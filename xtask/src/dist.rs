// SPDX-License-Identifier: MIT OR Apache-2.0
//! What servers without a compiler take: one static binary, with man pages and completions, as a
//! tarball and as a Debian package.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::project;

const TARGET: &str = "x86_64-unknown-linux-gnu";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A file of the package: its path below `/usr`, its mode, its content.
struct Item {
    path: String,
    mode: u32,
    content: Vec<u8>,
}

pub(crate) fn run() -> Result<()> {
    let binary = build()?;
    let items = items(&binary)?;
    let dist = project::top().join("dist");
    fs::create_dir_all(&dist)?;
    let tarball = dist.join(format!("nearside-{VERSION}-x86_64-linux.tar.gz"));
    fs::write(&tarball, tarball_of(&items)?)?;
    let package = dist.join(format!("nearside_{VERSION}_amd64.deb"));
    write_package(&package, &items)?;
    for file in [&binary, &tarball, &package] {
        println!("{:>9} bytes  {}", fs::metadata(file)?.len(), file.display());
    }
    Ok(())
}

/// Builds the binary without any shared library: glibc linked in gives a static-pie that starts on
/// any kernel and distribution.
fn build() -> Result<PathBuf> {
    let arguments = ["build", "--release", "--package", "nearside", "--target", TARGET];
    project::call("cargo", &arguments, &[("RUSTFLAGS", "-C target-feature=+crt-static")])?;
    let binary = project::top().join("target").join(TARGET).join("release/nearside");
    let mut readelf = Command::new("readelf");
    readelf.args(["--program-headers", "--wide"]).arg(&binary);
    let output = readelf.output().context("readelf")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(!text.contains("INTERP"), "the binary asks for a dynamic linker");
    Ok(binary)
}

fn items(binary: &Path) -> Result<Vec<Item>> {
    let made = |arguments: &[&str]| -> Result<Vec<u8>> {
        let output = Command::new(binary).args(arguments).output()?;
        ensure!(output.status.success(), "nearside {} failed", arguments.join(" "));
        Ok(output.stdout)
    };
    let item =
        |path: &str, mode: u32, content: Vec<u8>| Item { path: path.to_owned(), mode, content };
    let mut items = vec![
        item("bin/nearside", 0o755, fs::read(binary)?),
        item("share/doc/nearside/README.md", 0o644, fs::read(project::top().join("README.md"))?),
        item("share/doc/nearside/copyright", 0o644, copyright()?),
        item(
            "share/bash-completion/completions/nearside",
            0o644,
            made(&["generate", "complete", "bash"])?,
        ),
        item(
            "share/zsh/vendor-completions/_nearside",
            0o644,
            made(&["generate", "complete", "zsh"])?,
        ),
        item(
            "share/fish/vendor_completions.d/nearside.fish",
            0o644,
            made(&["generate", "complete", "fish"])?,
        ),
    ];
    let pages = String::from_utf8(made(&["generate", "man", "--list"])?)?;
    for page in pages.lines() {
        let text = made(&["generate", "man", page])?;
        items.push(item(&format!("share/man/man1/{page}.1.gz"), 0o644, gzip(&text)?));
    }
    items.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(items)
}

fn copyright() -> Result<Vec<u8>> {
    let mit = fs::read_to_string(project::top().join("LICENSE-MIT"))?;
    let apache = "\nOr, at your choice, the Apache License 2.0: see \
                  /usr/share/common-licenses/Apache-2.0 on Debian.\n";
    Ok((mit + apache).into_bytes())
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    std::io::Write::write_all(&mut encoder, bytes)?;
    Ok(encoder.finish()?)
}

fn tarball_of(items: &[Item]) -> Result<Vec<u8>> {
    let prefix = format!("nearside-{VERSION}/");
    archive(items.iter().map(|item| (format!("{prefix}{}", item.path), item.mode, &*item.content)))
}

/// A gzip-compressed tar with nothing of this machine in it: no owner, no time.
fn archive<'a>(files: impl Iterator<Item = (String, u32, &'a [u8])>) -> Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut folders = std::collections::BTreeSet::new();
    for (path, mode, content) in files {
        for folder in Path::new(&path).ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            if folder.components().next().is_some() && folders.insert(folder.to_owned()) {
                let name = format!("{}/", folder.display());
                append(&mut builder, &name, 0o755, tar::EntryType::Directory, &[])?;
            }
        }
        append(&mut builder, &path, mode, tar::EntryType::Regular, content)?;
    }
    gzip(&builder.into_inner()?)
}

fn append(
    builder: &mut tar::Builder<Vec<u8>>,
    path: &str,
    mode: u32,
    kind: tar::EntryType,
    content: &[u8],
) -> Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(content.len() as u64);
    header.set_mtime(0);
    builder.append_data(&mut header, path, content)?;
    Ok(())
}

/// A Debian package: an `ar` archive of version, control and data (deb(5)).
fn write_package(file: &Path, items: &[Item]) -> Result<()> {
    let size: usize = items.iter().map(|item| item.content.len()).sum();
    let control = format!(
        "Package: nearside\nVersion: {VERSION}\nArchitecture: amd64\nSection: admin\n\
         Priority: optional\nInstalled-Size: {}\n\
         Maintainer: The nearside authors <nearside@localhost.invalid>\n\
         Description: keeps I/O on the near side\n \
         Shows which NUMA node each drive, NIC and GPU of a server belongs to, and what in\n \
         firmware, kernel and placement costs throughput or latency.\n",
        size.div_ceil(1024)
    );
    let control = archive(std::iter::once(("./control".to_owned(), 0o644, control.as_bytes())))?;
    let data = items.iter().map(|item| (format!("./usr/{}", item.path), item.mode, &*item.content));
    let data = archive(data)?;
    let mut package = ar::Builder::new(File::create(file)?);
    for (name, content) in
        [("debian-binary", &b"2.0\n"[..]), ("control.tar.gz", &control), ("data.tar.gz", &data)]
    {
        let header = ar::Header::new(name.as_bytes().to_vec(), content.len() as u64);
        package.append(&header, content)?;
    }
    Ok(())
}
