//! Files that are made from definitions in Rust, committed, and checked for drift.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

mod daemon;
mod errors;
mod runtime_contracts;
#[cfg(test)]
mod tests;

/// A committed file and how it is made.
struct Generated {
    /// Relative to the root of the repository.
    path: &'static str,
    render: fn() -> Result<String>,
}

/// Everything that is generated. A new file is one more row.
const FILES: &[Generated] = &[
    Generated { path: "docs/errors.md", render: errors::render },
    Generated { path: "schemas/json/runtime-contracts.json", render: runtime_contracts::render },
    Generated { path: "docs/palyra.example.toml", render: daemon::config_example },
    Generated { path: "schemas/openapi/palyra.json", render: daemon::openapi },
];

pub(crate) fn help() -> String {
    let files: String = FILES.iter().map(|file| format!("  {}\n", file.path)).collect();
    format!(
        "\
usage: cargo xtask codegen [--check]

Writes the files that are made from definitions in Rust, which are committed:

{files}
With --check it writes nothing, names each file that differs from its definition, and then fails.
"
    )
}

/// Whether the file at this path, from the root of the repository, is one of those written here.
pub(crate) fn writes(path: &str) -> bool {
    FILES.iter().any(|file| file.path == path)
}

/// Writes every generated file; with `check`, writes nothing, names each file that differs from
/// what its definition says, and fails if there is one.
pub(crate) fn run(check: bool) -> Result<()> {
    // Asked for now: a build may be shared by several clones.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").context("run it as `cargo xtask`")?;
    let root = Path::new(&package).join("../..");
    let mut out = io::stdout().lock();
    if check { verify(&root, FILES, &mut out) } else { generate(&root, FILES, &mut out) }
}

fn verify(root: &Path, files: &[Generated], out: &mut impl Write) -> Result<()> {
    let drifted = drifted(root, files)?;
    for file in &drifted {
        writeln!(out, "{}: differs from its definition", file.path)?;
    }
    if !drifted.is_empty() {
        bail!("generated files have drifted, run `cargo xtask codegen`");
    }
    tell_all_is_well(files, out)
}

fn generate(root: &Path, files: &[Generated], out: &mut impl Write) -> Result<()> {
    for file in drifted(root, files)? {
        let path = file.path_in(root);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        }
        fs::write(&path, (file.render)()?).with_context(|| format!("write {}", path.display()))?;
        writeln!(out, "{}: written", file.path)?;
    }
    tell_all_is_well(files, out)
}

fn tell_all_is_well(files: &[Generated], out: &mut impl Write) -> Result<()> {
    Ok(writeln!(out, "codegen: {} files are up to date", files.len())?)
}

fn drifted<'a>(root: &Path, files: &'a [Generated]) -> Result<Vec<&'a Generated>> {
    let mut drifted = Vec::new();
    for file in files {
        let rendered = (file.render)().with_context(|| format!("render {}", file.path))?;
        if file.committed(root)?.as_deref() != Some(rendered.as_bytes()) {
            drifted.push(file);
        }
    }
    Ok(drifted)
}

impl Generated {
    fn path_in(&self, root: &Path) -> PathBuf {
        root.join(self.path)
    }

    /// The bytes that are there, so that even an encoding error counts as drift.
    fn committed(&self, root: &Path) -> Result<Option<Vec<u8>>> {
        match fs::read(self.path_in(root)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("read {}", self.path)),
        }
    }
}
