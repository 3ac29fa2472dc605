//! A terminal with somebody at it, as `script` of util-linux gives one.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::world::{World, until};

/// `palyra` on a terminal of its own, which ends with the test.
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    seen: Arc<Mutex<String>>,
    /// How much of what was seen was looked at.
    looked: usize,
}

impl Terminal {
    pub(crate) fn open(world: &World, arguments: &str) -> Self {
        let palyra = env!("CARGO_BIN_EXE_palyra");
        // `script` may drop what is written at the very end, so the end waits to be seen.
        // Ctrl-C reaches the shell, too, which must live on to tell the code.
        let line = format!(
            "trap : INT; {palyra} {arguments}; echo code=$?; stty -a; echo over.; read -r seen"
        );
        let mut child = Command::new("script")
            .args(["-q", "-e", "-c", &line, "/dev/null"])
            .env("HOME", world.home())
            .env("PALYRA_DATA_DIR", world.data_dir())
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh")
            .env("NO_COLOR", "1")
            .current_dir(world.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` of util-linux gives a terminal");
        let (keys, mut shows) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let seen = Arc::new(Mutex::new(String::new()));
        let sees = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = shows.read(&mut piece) {
                sees.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..read]));
            }
        });
        Self { child, keys, seen, looked: 0 }
    }

    /// Waits until `text` appears behind what was waited for before.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> &mut Self {
        let mut found = None;
        let seen = Arc::clone(&self.seen);
        let look = || {
            let seen = seen.lock().unwrap();
            found = seen[self.looked..].find(text).map(|at| self.looked + at + text.len());
            found.is_some()
        };
        until(&format!("{text:?} is shown"), look);
        self.looked = found.unwrap();
        self
    }

    pub(crate) fn keys(&mut self, keys: &str) -> &mut Self {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// All that was shown once the command has ended, with its code and how it left the terminal.
    #[track_caller]
    pub(crate) fn end(&mut self) -> String {
        self.wait_for("code=").wait_for("over.").keys("\r");
        until("the terminal ends", || self.child.try_wait().unwrap().is_some());
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Terminal {
    #[expect(clippy::print_stderr, reason = "a failing test shows what was seen")]
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- the terminal showed:\n{}---", self.seen.lock().unwrap());
        }
    }
}
