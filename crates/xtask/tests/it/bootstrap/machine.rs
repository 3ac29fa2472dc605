use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Ordinary programs that the script and the stubs rely on.
const BASICS: &[&str] =
    &["cat", "cp", "cut", "dirname", "env", "ls", "mkdir", "rm", "sed", "sh", "tr"];

/// Programs whose calls change the machine.
const CHANGING: &[&str] = &[
    "apt-get ",
    "dnf ",
    "pacman ",
    "zypper ",
    "apk ",
    "brew ",
    "sudo ",
    "rustup ",
    "cargo install ",
    "python3 -m ",
    "npm ",
    "seen: ",
];

/// A folder with `bin`, which is the whole `PATH`, with `system`, which stands for `/`, with `shelf`,
/// where the package manager finds what is not installed, and with `repository`, where the script is.
pub(crate) struct Machine {
    folder: TempDir,
}

pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
    pub(crate) changes: Vec<String>,
}

impl Machine {
    /// Everything is there, and the user is root.
    pub(crate) fn complete() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["bin", "system", "shelf", "repository/scripts/openai-npm"] {
            fs::create_dir_all(machine.path(folder)).unwrap();
        }
        for file in [
            "scripts/bootstrap",
            "scripts/schemathesis.txt",
            "scripts/model-sdks.txt",
            "scripts/openai-npm/package.json",
            "scripts/openai-npm/package-lock.json",
            "scripts/grpc-clients.txt",
            "Cargo.toml",
        ] {
            let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
            fs::copy(original, machine.path("repository").join(file)).unwrap();
        }
        for name in BASICS {
            let real = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
            let real = real.iter().find(|path| path.exists()).unwrap();
            symlink(real, machine.path("bin").join(name)).unwrap();
        }
        machine.stub("bin/id", "echo 0");
        machine.stub("bin/rustc", "echo 'rustc 99.0.0 (0000000 2099-01-01)'");
        machine.stub("bin/cargo", "[ \"$1\" = install ] || exec \"$MACHINE/bin/cargo-$1\"");
        for part in
            ["cargo-fmt", "cargo-clippy", "cargo-nextest", "cargo-deny", "cc", "flock", "make"]
        {
            machine.stub(&format!("bin/{part}"), "");
        }
        machine.stub("bin/node", "echo v20.1.0");
        machine.python("3.10.4");
        // Into which npm installs nothing but its mark.
        machine.stub("bin/npm", "[ ! -e \"$MACHINE/offline\" ]");
        let kept = [machine.schemathesis(), machine.model_sdks(), machine.grpc_clients()];
        for folder in kept.into_iter().chain([machine.openai_npm()]) {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("complete"), "").unwrap();
        }
        machine.postgres("15.8 (Debian 15.8-0+deb12u1)");
        machine
    }

    /// The repository has a web console, which is built and tested with Node.
    pub(crate) fn with_console(self) -> Self {
        let folder = self.path("repository/apps/web");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("package.json"), "{}").unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program that notes its call and then does what `body` says.
    pub(crate) fn stub(&self, path: &str, body: &str) {
        let path = self.path(path);
        let name = path.file_name().unwrap().to_str().unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\necho \"{name} $*\" >> \"$LOG\"\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A Python that makes environments of itself, into which pip installs nothing but its mark.
    pub(crate) fn python(&self, version: &str) {
        let body = format!(
            "case \"$*\" in\n\
             *platform*) echo {version} ;;\n\
             '-m venv '*) mkdir -p \"$3/bin\"; cp \"$0\" \"$3/bin/python\" ;;\n\
             '-m pip '*) [ ! -e \"$MACHINE/offline\" ] ;;\n\
             esac"
        );
        self.stub("bin/python3", &body);
    }

    /// Where the environment of schemathesis is.
    pub(crate) fn schemathesis(&self) -> PathBuf {
        self.environment("schemathesis", "schemathesis==")
    }

    /// Where the environment of the packages of OpenAI and Anthropic is.
    pub(crate) fn model_sdks(&self) -> PathBuf {
        self.environment("model-sdks", "openai==")
    }

    /// Where the environment of the gRPC of Python is.
    pub(crate) fn grpc_clients(&self) -> PathBuf {
        self.environment("grpc-clients", "grpcio==")
    }

    /// Where the package of OpenAI for Node is.
    pub(crate) fn openai_npm(&self) -> PathBuf {
        let packages = self.path("repository/scripts/openai-npm/package.json");
        let packages = fs::read_to_string(packages).unwrap();
        let version = packages.lines().find_map(|line| line.trim().strip_prefix("\"openai\": \""));
        let version = version.unwrap().trim_end_matches('"');
        self.path("home/.cache/palyra").join(format!("openai-npm-{version}"))
    }

    fn environment(&self, name: &str, package: &str) -> PathBuf {
        let packages = self.path("repository/scripts").join(format!("{name}.txt"));
        let packages = fs::read_to_string(packages).unwrap();
        let version = packages.lines().find_map(|line| line.strip_prefix(package));
        self.path("home/.cache/palyra").join(format!("{name}-{}", version.unwrap()))
    }

    pub(crate) fn postgres(&self, version: &str) {
        let folder = "system/usr/lib/postgresql/any/bin";
        self.stub(
            &format!("{folder}/postgres"),
            &format!("echo 'postgres (PostgreSQL) {version}'"),
        );
        self.stub(&format!("{folder}/initdb"), "");
        self.stub(&format!("{folder}/psql"), "");
    }

    /// Takes something away; a package manager, if there is one, can bring it back.
    pub(crate) fn without(self, name: &str) -> Self {
        let shelf = self.path("shelf").join(name);
        fs::create_dir_all(shelf.parent().unwrap()).unwrap();
        fs::rename(self.path(name), shelf).unwrap();
        self
    }

    pub(crate) fn without_postgres(self) -> Self {
        self.without("system/usr/lib/postgresql")
    }

    /// A package manager that puts everything back, and notes what Debian's install would read.
    pub(crate) fn with_manager(self, name: &str) -> Self {
        let body = "[ \"$1\" = update ] && exit\n\
                    conf=\"$MACHINE/system/etc/postgresql-common/createcluster.d/palyra.conf\"\n\
                    [ ! -e \"$conf\" ] || echo \"seen: $(cat \"$conf\")\" >> \"$LOG\"\n\
                    cp -R \"$MACHINE/shelf/.\" \"$MACHINE/\"";
        self.stub(&format!("bin/{name}"), body);
        self
    }

    pub(crate) fn bootstrap(&self, what: &str) -> Outcome {
        let script = self.path("repository/scripts/bootstrap");
        let log = self.path("log");
        fs::write(&log, "").unwrap();
        let output = Command::new("/bin/sh")
            .arg(script)
            .arg(what)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.path("home"))
            .env("MACHINE", self.folder.path())
            .env("LOG", &log)
            .env("PALYRA_BOOTSTRAP_SYSTEM", self.path("system"))
            .output()
            .unwrap();
        let calls = fs::read_to_string(log).unwrap();
        let changes =
            calls.lines().filter(|call| CHANGING.iter().any(|name| call.starts_with(name)));
        Outcome {
            code: output.status.code(),
            said: String::from_utf8(output.stderr).unwrap(),
            changes: changes.map(str::to_owned).collect(),
        }
    }
}
