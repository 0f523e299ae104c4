// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside generate`: man pages, completions, schemas and synthetic machines, from the same
//! definitions that the program itself uses.

use std::path::Path;

use clap::CommandFactory;

use crate::args::{Arguments, Generate};
use crate::expected::{Ended, Expected};
use crate::{source, terminal};

pub(crate) fn run(generate: &Generate) -> Result<Ended, Expected> {
    match generate {
        Generate::Man { list: true, .. } => terminal::answer(&pages().join("\n"))?,
        Generate::Man { page, .. } => terminal::answer(&man(page)?)?,
        Generate::Complete { shell } => terminal::answer(&completions(*shell)?)?,
        Generate::Schema { document } => terminal::answer(&schema(document)?)?,
        Generate::Machine { name: None, .. } => {
            let names: Vec<_> = synthetic::names().collect();
            terminal::answer(&names.join("\n"))?;
        }
        Generate::Machine { name: Some(name), folder } => machine(name, folder.as_deref())?,
    }
    Ok(Ended::Well)
}

fn command() -> clap::Command {
    let mut command = Arguments::command();
    command.build();
    command
}

/// A page for the program and one for each verb.
fn pages() -> Vec<String> {
    let command = command();
    let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs = shown.map(|verb| format!("nearside-{}", verb.get_name()));
    std::iter::once("nearside".to_owned()).chain(verbs).collect()
}

fn man(page: &str) -> Result<String, Expected> {
    let command = command();
    let verb = page.strip_prefix("nearside-").and_then(|verb| command.find_subcommand(verb));
    let command = match verb {
        Some(verb) => verb.clone().name(page.to_owned()).bin_name(page.replacen('-', " ", 1)),
        None if page == "nearside" => command,
        None => {
            let what = format!("no man page is called {page}");
            return Err(Expected::usage(what, format!("pages: {}", pages().join(", "))));
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn completions(shell: clap_complete::Shell) -> Result<String, Expected> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "nearside", &mut text);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn schema(document: &str) -> Result<String, Expected> {
    let file = format!("{}.json", document.replace('/', "-"));
    let schemas = report::json::schemas();
    let found = schemas.iter().find(|(name, _)| *name == file).map(|(_, text)| text.clone());
    found.ok_or_else(|| {
        let known: Vec<_> = schemas.iter().map(|(name, _)| document_of(name)).collect();
        let what = format!("no document is called {document}");
        Expected::usage(what, format!("documents: {}", known.join(", ")))
    })
}

/// `topology-1.json` is the schema of `topology/1`.
fn document_of(file: &str) -> String {
    let name = file.trim_end_matches(".json");
    name.rsplit_once('-').map_or(name.to_owned(), |(name, version)| format!("{name}/{version}"))
}

fn machine(name: &str, folder: Option<&Path>) -> Result<(), Expected> {
    let name = name.strip_prefix(source::SYNTHETIC).unwrap_or(name);
    let Some(folder) = folder else {
        return Err(Expected::usage("no folder to write to is named", "name a new folder"));
    };
    let machine = source::machine(name)?;
    std::fs::create_dir(folder).map_err(|error| {
        let what = format!("cannot make the folder {}: {error}", folder.display());
        Expected::precondition(what, "name a folder that does not exist, in one that does")
    })?;
    machine.tree().write_to(folder).map_err(|error| {
        Expected::precondition(format!("cannot write into {}: {error}", folder.display()), "")
    })?;
    terminal::hint(&format!("wrote {name}; look at it: nearside --from {}", folder.display()));
    Ok(())
}
