//! The text of the unit.

use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// The first line, by which a unit of ours is known.
pub(crate) const MARK: &str = "# Written by `palyra daemon install`.";

/// The unit that runs `program` on `data_dir`. `writable` are the folders besides it that the
/// daemon writes to.
pub(crate) fn text(program: &Path, data_dir: &Path, log: &Path, writable: &[PathBuf]) -> String {
    let writable: String =
        writable.iter().map(|path| format!("ReadWritePaths=-{}\n", quoted(path))).collect();
    format!(
        "\
{MARK}
# Changes are kept safe in a drop-in: systemctl --user edit palyra.service

[Unit]
Description=Palyra gateway daemon

[Service]
Type=exec
ExecStart={program} --data-dir {argument}
StandardOutput=append:{log}
StandardError=append:{log}
Restart=on-failure
RestartSec=2
TimeoutStopSec=60

# Where the machine forbids this to users (status 226/NAMESPACE), take the Protect and Private
# settings back in a drop-in.
UMask=0077
NoNewPrivileges=yes
PrivateTmp=yes
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
WantedBy=default.target
",
        program = quoted(program),
        argument = quoted(data_dir).replace('$', "$$"),
        data_dir = quoted(data_dir),
        log = escaped(log),
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

/// The program that the text of a unit starts.
pub(super) fn program(text: &str) -> Option<PathBuf> {
    let line = text.lines().find_map(|line| line.strip_prefix("ExecStart="))?;
    let word = match line.strip_prefix('"') {
        Some(quoted) => quoted.split("\" ").next()?.trim_end_matches('"'),
        None => line.split_whitespace().next()?,
    };
    let plain = word.replace("\\\"", "\"").replace("\\\\", "\\");
    Some(PathBuf::from(plain.replace("%%", "%")))
}
