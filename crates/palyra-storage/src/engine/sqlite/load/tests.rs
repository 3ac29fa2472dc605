use std::io::{Error, ErrorKind};

use palyra_common::error::ErrorCode;

use super::*;

/// A file that is to be published, and the place for it.
fn files() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palyra.db");
    let unfinished = unfinished(&path);
    std::fs::write(&unfinished, "whole").unwrap();
    (folder, unfinished, path)
}

fn fails(_: &Path) -> io::Result<()> {
    Err(Error::from(ErrorKind::StorageFull))
}

#[test]
fn a_database_that_has_its_name_may_be_there() {
    let (_folder, unfinished, path) = files();
    let Err(Unfinished::MayBeThere(error)) = publish(&unfinished, &path, fails) else {
        panic!("what belongs to a database that is there would be taken away");
    };
    assert_eq!(error.code(), ErrorCode::StorageCommitUnknown);
    let told = error.envelope().message().to_owned();
    assert!(told.contains("look whether the database is there before restoring again"), "{told}");
    assert!(told.contains("disk"), "{told}");
    assert_eq!(std::fs::read(&path).unwrap(), b"whole");
}

#[test]
fn a_database_that_did_not_get_its_name_is_not_there() {
    let (_folder, unfinished, path) = files();
    // Nothing can take the place of a folder that is not empty.
    std::fs::create_dir_all(path.join("inner")).unwrap();
    let published = publish(&unfinished, &path, private::sync_folder_of);
    assert!(matches!(published, Err(Unfinished::NotThere(_))), "{published:?}");
    assert_eq!(std::fs::read(&unfinished).unwrap(), b"whole");
}
