use super::*;

const USUAL_DIR: &str = "/home/a/.local/share/palyra";

fn write(folder: &Path, name: &str, data_dir: &str) {
    let log = Path::new(data_dir).join("log/palyrad.log");
    let text = text(name, Path::new("/bin/palyrad"), Path::new(data_dir), &log, &[]);
    std::fs::write(folder.join(name), text).unwrap();
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
