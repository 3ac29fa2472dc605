//! The text of the unit.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use palyra_common::data_dir::STOP_SECONDS;

#[cfg(test)]
mod tests;

/// The first line, by which a unit of ours is known.
pub(crate) const MARK: &str = "# Written by `palyra daemon install`.";

/// What starts a unit.
pub(super) const WANTED_BY: &str = "default.target";

/// What a unit is made of.
pub(crate) struct Content<'a> {
    pub(crate) name: &'a str,
    pub(crate) program: &'a Path,
    pub(crate) data_dir: &'a Path,
    pub(crate) log: &'a Path,
    /// The file of variables that no configuration file may hold. It need not be there.
    pub(crate) variables: &'a Path,
    /// The folders beside the data directory that the daemon writes to.
    pub(crate) writable: &'a [PathBuf],
}

/// What a private `/tmp` would hide from the daemon.
const SHARED_TMP: [&str; 2] = ["/tmp", "/var/tmp"];

/// The text of the unit.
pub(crate) fn text(content: &Content<'_>) -> String {
    let Content { name, program, data_dir, log, variables, writable } = *content;
    let mut used = writable.iter().map(PathBuf::as_path).chain([data_dir]);
    let needs_tmp = used.any(|path| SHARED_TMP.iter().any(|tmp| path.starts_with(tmp)));
    let writable: String =
        writable.iter().map(|path| format!("ReadWritePaths=-{}\n", quoted(path))).collect();
    format!(
        "\
{MARK}
# Changes are kept safe in a drop-in: systemctl --user edit {name}

[Unit]
Description=Palyra gateway daemon on {described}

[Service]
Type=exec
ExecStart={program} --data-dir {argument}
EnvironmentFile=-{variables}
StandardOutput=append:{log}
StandardError=append:{log}
Restart=on-failure
RestartSec=2
TimeoutStopSec={STOP_SECONDS}

# Where the machine forbids this to users (status 226/NAMESPACE), take the Protect and Private
# settings back in a drop-in.
UMask=0077
NoNewPrivileges=yes
PrivateTmp={private_tmp}
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths={data_dir}
{writable}\
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
# Not restricted on purpose: namespaces, in which tools are confined, and memory that is written and
# then run, which the WASM runtime needs.

[Install]
WantedBy={WANTED_BY}
",
        program = quoted(program),
        argument = quoted(data_dir).replace('$', "$$"),
        data_dir = quoted(data_dir),
        described = escaped(data_dir),
        log = escaped(log),
        variables = escaped(variables),
        private_tmp = if needs_tmp { "no" } else { "yes" },
    )
}

/// A path as one word of a setting: systemd splits at spaces and expands `%`. In arguments, but not
/// in the name of the program, it expands `$` as well.
fn quoted(path: &Path) -> String {
    let inner = escaped(path).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{inner}\"")
}

/// A path that reaches to the end of its line.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace('%', "%%")
}

/// The name of the unit for a data directory: its path, with what systemd or a shell would read
/// otherwise written as numbers.
pub(super) fn name(data_dir: &Path) -> String {
    let letter = |byte: &u8| match byte {
        b'/' => "-".to_owned(),
        b'.' => ".".to_owned(),
        plain if plain.is_ascii_alphanumeric() => char::from(*plain).to_string(),
        other => format!("_{other:02x}"),
    };
    let path: String = data_dir.as_os_str().as_bytes().iter().map(letter).collect();
    format!("palyra{path}.service")
}

/// The program that the text of a unit starts.
pub(super) fn program(text: &str) -> Option<PathBuf> {
    Some(words(text)?.into_iter().next()?.into())
}

/// The data directory that the text of a unit names.
pub(super) fn data_dir(text: &str) -> Option<PathBuf> {
    let mut words = words(text)?.into_iter();
    let told = words.find_map(|word| match word.strip_prefix("--data-dir") {
        Some("") => Some(None),
        Some(inline) => inline.strip_prefix('=').map(|told| Some(told.to_owned())),
        None => None,
    })?;
    Some(told.or_else(|| words.next())?.replace("$$", "$").into())
}

/// The folders that the text of a unit lets the daemon write to.
pub(super) fn writable(text: &str) -> Vec<PathBuf> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("ReadWritePaths="));
    let paths = lines.flat_map(split).map(|word| word.trim_start_matches(['-', '+']).into());
    paths.collect()
}

/// The words of what the text of a unit starts.
fn words(text: &str) -> Option<Vec<String>> {
    text.lines().find_map(|line| line.strip_prefix("ExecStart=")).map(split)
}

/// The words of a setting, as systemd reads them.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let (mut quoted, mut letters) = (false, line.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' => word.get_or_insert_default().extend(letters.next()),
            ' ' | '\t' if !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words.into_iter().map(|word| word.replace("%%", "%")).collect()
}
