//! `runtime.json`: how local programs find a running daemon.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use palyra_common::data_dir::{self, RUNTIME_FILE, Running};

use crate::app::App;
use crate::config::Given;

/// The file, for as long as the daemon runs. It is removed at an orderly stop.
pub(crate) struct RuntimeFile {
    path: PathBuf,
    text: String,
    socket: Option<u64>,
}

impl RuntimeFile {
    pub(crate) fn write(app: &App) -> std::io::Result<Self> {
        let running = Running {
            pid: app.place.pid,
            version: env!("CARGO_PKG_VERSION").into(),
            http: app.place.http.to_string(),
            grpc: app.place.grpc.to_string(),
            socket: app.place.socket.clone(),
            started_at: app.started_at,
            options: options(&app.given),
            variables: variables(app),
        };
        let path = app.place.data_dir.join(RUNTIME_FILE);
        let text = serde_json::to_string_pretty(&running)? + "\n";
        crate::config::write(&path, &text)?;
        Ok(Self { path, text, socket: inode(&app.place.socket) })
    }

    /// Removes the file and the socket, which nobody listens on any more. The next daemon may have
    /// put its own in their place while this one let its requests end.
    pub(crate) fn remove(&self, app: &App) {
        // What is left behind after a crash is no worse.
        if std::fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            let _ = std::fs::remove_file(&self.path);
        }
        if self.socket.is_some() && inode(&app.place.socket) == self.socket {
            let _ = std::fs::remove_file(&app.place.socket);
        }
    }
}

fn inode(path: &Path) -> Option<u64> {
    std::fs::symlink_metadata(path).ok().map(|found| found.ino())
}

/// As a command line would have them. The file is named by its whole path.
fn options(given: &Given) -> Vec<String> {
    let file = given.file.as_ref().and_then(|file| file.to_str());
    let file = file.map(|file| ["--config".to_owned(), file.to_owned()]);
    let option = |key: &str| format!("--{}", key.replace(['.', '_'], "-"));
    let flags = given.flags.iter().map(|(key, value)| [option(key), value.clone()]);
    file.into_iter().chain(flags).flatten().collect()
}

fn variables(app: &App) -> Vec<String> {
    let named_anew = |name: &&String| *name != data_dir::VARIABLE && *name != "PALYRA_CONFIG";
    let options = app.given.env.keys().filter(named_anew).cloned();
    let is_read =
        |name: &&str| app.config().storage.blobs_on_s3() && std::env::var_os(name).is_some();
    let key = data_dir::S3_VARIABLES.into_iter().filter(is_read).map(str::to_owned);
    options.chain(key).collect()
}
