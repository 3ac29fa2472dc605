use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

const SECRET: &str = "what is outside";

/// A workspace, with a secret beside it.
fn world() -> (tempfile::TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("outside")).unwrap();
    std::fs::write(folder.path().join("outside/note.md"), SECRET).unwrap();
    let workspaces = Workspaces::new(folder.path().join("data/workspaces"));
    let workspace = workspaces.make(&agent("ann")).unwrap();
    (folder, workspace)
}

fn agent(name: &str) -> AgentId {
    name.parse().unwrap()
}

fn inside(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("data/workspaces/ann")
}

fn path(written: &str) -> WorkPath {
    WorkPath::parse(written).unwrap()
}

/// What both ways of opening give, which must be the same.
fn open_both(workspace: &Workspace, written: &str) -> Option<String> {
    let (root, path) = (workspace.root.as_fd(), path(written));
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let read = |opened: Result<OwnedFd, Errno>| {
        let mut text = String::new();
        File::from(opened.ok()?).read_to_string(&mut text).ok()?;
        Some(text)
    };
    let (one, other) = (open::beneath(root, &path, flags), open::walk(root, &path, flags));
    let (one, other) = (read(one), read(other));
    assert_eq!(one, other, "{written}");
    one
}

#[test]
fn it_is_made_for_its_owner_alone() {
    let (folder, _) = world();
    let mode = inside(&folder).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let above = folder.path().join("data/workspaces").metadata().unwrap().permissions().mode();
    assert_eq!(above & 0o777, 0o700);
}

#[test]
fn looking_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let workspaces = Workspaces::new(folder.path().join("workspaces"));
    assert!(workspaces.find(&agent("ann")).unwrap().is_none());
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn an_agent_cannot_be_called_after_the_folder_above() {
    let (folder, _) = world();
    let workspaces = Workspaces::new(folder.path().join("data/workspaces"));
    for name in [".", ".."] {
        assert!(workspaces.make(&agent(name)).is_err(), "{name}");
        assert!(workspaces.find(&agent(name)).is_err(), "{name}");
    }
}

#[test]
fn a_workspace_that_is_a_link_is_not_used() {
    let (folder, _) = world();
    symlink(folder.path().join("outside"), folder.path().join("data/workspaces/bob")).unwrap();
    let workspaces = Workspaces::new(folder.path().join("data/workspaces"));
    assert!(workspaces.find(&agent("bob")).is_err());
    assert!(workspaces.make(&agent("bob")).is_err());
}

#[test]
fn no_link_leads_out_or_anywhere() {
    let (folder, workspace) = world();
    let (root, outside) = (inside(&folder), folder.path().join("outside"));
    std::fs::create_dir(root.join("real")).unwrap();
    std::fs::write(root.join("real/note.md"), "mine").unwrap();
    symlink(outside.join("note.md"), root.join("file")).unwrap();
    symlink("../../../outside/note.md", root.join("relative")).unwrap();
    symlink(&outside, root.join("folder")).unwrap();
    symlink("/proc/self/root", root.join("magic")).unwrap();
    symlink("real", root.join("within")).unwrap();
    symlink("dangling", root.join("dangling")).unwrap();
    assert_eq!(open_both(&workspace, "real/note.md").as_deref(), Some("mine"));
    for escape in ["file", "relative", "folder/note.md", "magic/etc/passwd", "within/note.md"] {
        assert_eq!(open_both(&workspace, escape), None, "{escape}");
        let told = workspace.file(&path(escape)).unwrap_err().to_string();
        assert!(told.contains("link"), "{told}");
    }
    assert!(workspace.file(&path("dangling")).is_err());
}

#[test]
fn the_kernel_keeps_us_inside_where_names_do_not() {
    // Not a path that anybody could write; that is what must not matter.
    let (folder, workspace) = world();
    std::fs::write(inside(&folder).join("mine"), "mine").unwrap();
    let (root, flags) = (workspace.root.as_fd(), OFlags::RDONLY);
    for escape in ["../../../outside/note.md", "/etc/passwd", "/proc/self/root/etc/passwd"] {
        let opened = open::beneath(root, &WorkPath::unchecked(escape), flags);
        assert_eq!(opened.err(), Some(Errno::XDEV), "{escape}");
    }
}

#[test]
fn a_file_with_a_second_name_is_not_read() {
    let (folder, workspace) = world();
    let there = inside(&folder).join("hard");
    std::fs::hard_link(folder.path().join("outside/note.md"), there).unwrap();
    let told = workspace.file(&path("hard")).unwrap_err().to_string();
    assert!(told.contains("second name"), "{told}");
    assert!(workspace.find(&path("hard")).is_err());
}

#[test]
fn only_regular_files_are_opened_and_nothing_waits() {
    let (folder, workspace) = world();
    rustix::fs::mkfifoat(rustix::fs::CWD, inside(&folder).join("fifo"), Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(inside(&folder).join("socket")).unwrap();
    std::fs::create_dir(inside(&folder).join("folder")).unwrap();
    for (name, expected) in
        [("fifo", "regular"), ("socket", "regular"), ("folder", "folder"), ("none", "not there")]
    {
        let told = workspace.file(&path(name)).unwrap_err().to_string();
        assert!(told.contains(expected), "{name}: {told}");
    }
    for name in ["fifo", "socket", "folder"] {
        assert!(workspace.replace(&path(name), b"new", None).is_err(), "{name}");
    }
}

#[test]
fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
    let (folder, workspace) = world();
    let script = inside(&folder).join("a/b/run.sh");
    workspace.replace(&path("a/b/run.sh"), b"one", None).unwrap();
    assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let before = File::open(&script).unwrap();
    let mode = workspace.file(&path("a/b/run.sh")).unwrap().mode;
    workspace.replace(&path("a/b/run.sh"), b"two", Some(mode)).unwrap();
    assert_eq!(std::fs::read(&script).unwrap(), b"two");
    assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    // Whoever had it open still has all of the old one.
    assert_eq!(std::io::read_to_string(before).unwrap(), "one");
    assert_eq!(names(&inside(&folder).join("a/b")), ["run.sh"]);
}

#[test]
fn a_link_is_not_written_through() {
    let (folder, workspace) = world();
    symlink(folder.path().join("outside/note.md"), inside(&folder).join("file")).unwrap();
    symlink(folder.path().join("outside"), inside(&folder).join("folder")).unwrap();
    for escape in ["file", "folder/note.md", "folder/new.md", "folder/new/new.md"] {
        assert!(workspace.replace(&path(escape), b"x", None).is_err(), "{escape}");
    }
    assert_eq!(names(&folder.path().join("outside")), ["note.md"]);
    let outside = std::fs::read_to_string(folder.path().join("outside/note.md")).unwrap();
    assert_eq!(outside, SECRET);
    assert_eq!(names(&inside(&folder)), ["file", "folder"]);
}

/// What is left of a write that was killed, and a file that only looks a little like it.
const LEFT: &str = ".palyra-01ARZ3NDEKTSV4RRFFQ69G5FAV.tmp";
const THEIRS: &str = ".palyra-notes.tmp";

#[test]
fn what_a_killed_write_has_left_is_taken_away_by_the_next() {
    let (folder, workspace) = world();
    let root = inside(&folder);
    std::fs::write(root.join(LEFT), "half").unwrap();
    std::fs::write(root.join(THEIRS), "mine").unwrap();
    // Also one that may not be written to.
    std::fs::set_permissions(root.join(LEFT), PermissionsExt::from_mode(0o400)).unwrap();
    workspace.replace(&path("note.md"), b"new", None).unwrap();
    assert_eq!(names(&root), [THEIRS, "note.md"]);
    assert_eq!(std::fs::read_to_string(root.join("note.md")).unwrap(), "new");
}

#[test]
fn what_is_being_written_is_left_alone() {
    let (folder, workspace) = world();
    let root = inside(&folder);
    let writing = File::create(root.join(LEFT)).unwrap();
    rustix::fs::flock(&writing, rustix::fs::FlockOperation::LockExclusive).unwrap();
    workspace.replace(&path("note.md"), b"new", None).unwrap();
    assert_eq!(names(&root), [LEFT, "note.md"]);
    drop(writing);
    workspace.replace(&path("note.md"), b"newer", None).unwrap();
    assert_eq!(names(&root), ["note.md"]);
}

#[test]
fn many_who_write_at_once_take_nothing_away_from_each_other() {
    let (folder, workspace) = world();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let workspace = &workspace;
            scope.spawn(move || {
                for round in 0..50 {
                    let name = path(&format!("note{n}.md"));
                    workspace.replace(&name, round.to_string().as_bytes(), None).unwrap();
                }
            });
        }
    });
    let root = inside(&folder);
    assert_eq!(names(&root).len(), 8);
    for name in names(&root) {
        assert_eq!(std::fs::read_to_string(root.join(name)).unwrap(), "49");
    }
}

#[test]
fn what_is_not_whole_yet_is_not_there_for_anybody() {
    let (folder, workspace) = world();
    std::fs::write(inside(&folder).join(LEFT), "half").unwrap();
    let mut shown = Vec::new();
    workspace.entries(&WorkPath::root(), |entry| shown.push(entry.shown)).unwrap();
    assert_eq!(shown, [""; 0]);
    assert!(WorkPath::parse(LEFT).is_err(), "whoever wrote to it would lose it");
    assert!(WorkPath::parse(THEIRS).is_ok());
}

fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().into_string().unwrap()
    };
    let mut names: Vec<_> = folder.read_dir().unwrap().map(name).collect();
    names.sort();
    names
}

/// Ends the thread that swaps, also when an assertion fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Swaps a folder and a file for links to the outside, and back, while they are read and written.
#[test]
fn whoever_swaps_links_in_at_the_right_moment_gets_nothing() {
    let (folder, workspace) = world();
    let (root, outside) = (inside(&folder), folder.path().join("outside"));
    std::fs::create_dir(root.join("real")).unwrap();
    std::fs::write(root.join("real/note.md"), "mine").unwrap();
    std::fs::write(root.join("real.md"), "mine").unwrap();
    symlink(&outside, root.join("link")).unwrap();
    symlink(outside.join("note.md"), root.join("link.md")).unwrap();
    let swap = |from: &str, target: &str| {
        let (from, to) = (root.join(from), root.join(target));
        let _ = std::fs::rename(&from, &to);
        let _ = std::fs::rename(&to, &from);
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for (from, target) in
                    [("real", "dir"), ("link", "dir"), ("real.md", "file"), ("link.md", "file")]
                {
                    swap(from, target);
                }
            }
        });
        let _done = Done(&done);
        for _ in 0..3_000 {
            for (written, open) in [
                ("dir/note.md", open::beneath as fn(_, &_, _) -> _),
                ("dir/note.md", open::walk),
                ("file", open::beneath),
            ] {
                let flags = OFlags::RDONLY | OFlags::NONBLOCK;
                if let Ok(opened) = open(workspace.root.as_fd(), &path(written), flags) {
                    let text = std::io::read_to_string(File::from(opened)).unwrap();
                    assert_eq!(text, "mine", "{written}");
                }
            }
            let _ = workspace.replace(&path("dir/new/planted.md"), b"planted", None);
        }
    });
    assert_eq!(names(&outside), ["note.md"]);
    assert_eq!(std::fs::read_to_string(outside.join("note.md")).unwrap(), SECRET);
}
