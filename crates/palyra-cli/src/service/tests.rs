use super::*;

const USUAL_DIR: &str = "/home/a/.local/share/palyra";

fn write(folder: &Path, name: &str, data_dir: &str) {
    let data_dir = Path::new(data_dir);
    let (log, variables) = (&data_dir.join("log/palyrad.log"), &data_dir.join("service.env"));
    let program = Path::new("/bin/palyrad");
    let content = Content { name, program, data_dir, log, variables, writable: &[] };
    std::fs::write(folder.join(name), text(&content)).unwrap();
}

#[test]
fn each_data_directory_has_a_unit_of_its_own() {
    let folder = palyra_testkit::fs::ScratchDir::new().unwrap();
    let of = |data_dir: &str| {
        Unit::within(folder.path(), Path::new(USUAL_DIR), Path::new(data_dir)).name().to_owned()
    };
    assert_eq!(of(USUAL_DIR), "palyra.service");
    assert_eq!(of("/nowhere/a b-c"), "palyra-nowhere-a_20b_2dc.service");
    assert_ne!(of("/nowhere/a-b"), of("/nowhere/a/b"));
}

#[test]
fn a_unit_of_an_earlier_version_belongs_to_the_directory_that_it_names() {
    let folder = palyra_testkit::fs::ScratchDir::new().unwrap();
    let of =
        |data_dir: &str| Unit::within(folder.path(), Path::new(USUAL_DIR), Path::new(data_dir));
    write(folder.path(), "palyra.service", "/nowhere/a $b%c");
    assert_eq!(of("/nowhere/a $b%c").name(), "palyra.service");
    assert!(of("/nowhere/a $b%c").is_installed());
    let usual = of(USUAL_DIR);
    assert_eq!(usual.taken_by(), Some(Path::new("/nowhere/a $b%c")));
    assert!(!usual.is_installed() && usual.program().is_none());
    assert!(!of("/nowhere/other").is_installed());
}

#[test]
fn a_folder_that_the_unit_does_not_open_is_withheld() {
    let folder = palyra_testkit::fs::ScratchDir::new().unwrap();
    let data_dir = Path::new("/nowhere/a");
    let unit = || Unit::within(folder.path(), Path::new(USUAL_DIR), data_dir);
    write(folder.path(), unit().name(), "/nowhere/a");
    let withheld = |needed: &str| {
        let outside = Outside { folders: vec![needed.into()], s3: false };
        unit().withholds(data_dir, &outside).map(|withheld| withheld.what)
    };
    assert_eq!(withheld("/nowhere/a/blobs"), None);
    let told = Some("the service may not write to /nowhere/b".to_owned());
    assert_eq!(withheld("/nowhere/b"), told);
    let changes = files::with_ending(unit().path(), ".d");
    std::fs::create_dir(&changes).unwrap();
    std::fs::write(changes.join("own.conf"), "[Service]\nReadWritePaths=/x -/nowhere/b\n").unwrap();
    assert_eq!(withheld("/nowhere/b"), None);

    let on_s3 = Outside { folders: Vec::new(), s3: true };
    assert!(unit().withholds(data_dir, &on_s3).unwrap().what.contains("no key for S3"));
}
