use super::*;

fn unit(program: &str, data_dir: &str) -> String {
    let (program, data_dir) = (Path::new(program), Path::new(data_dir));
    let (log, variables) = (&data_dir.join("log/palyrad.log"), &data_dir.join("service.env"));
    let writable = &["/home/a/.config/palyra".into(), "/mnt/a b/100%".into()];
    text(&Content { name: "palyra.service", program, data_dir, log, variables, writable })
}

#[test]
fn paths_stay_whole_whatever_is_in_them() {
    let unit = unit("/opt/my $tools/100%/palyrad", "/srv/a $b");
    let start = "ExecStart=\"/opt/my $tools/100%%/palyrad\" --data-dir \"/srv/a $$b\"\n";
    assert!(unit.contains(start), "{unit}");
    assert!(unit.contains("ReadWritePaths=\"/srv/a $b\"\n"), "{unit}");
    assert!(unit.contains("StandardOutput=append:/srv/a $b/log/palyrad.log\n"), "{unit}");
    assert_eq!(program(&unit), Some("/opt/my $tools/100%/palyrad".into()));
    assert_eq!(data_dir(&unit), Some("/srv/a $b".into()));
    assert!(unit.contains("EnvironmentFile=-/srv/a $b/service.env\n"), "{unit}");
    let open = ["/srv/a $b", "/home/a/.config/palyra", "/mnt/a b/100%"].map(PathBuf::from);
    assert_eq!(writable(&unit), open);
}

#[test]
fn what_is_in_a_shared_tmp_is_not_hidden() {
    assert!(unit("/bin/palyrad", "/srv/a").contains("PrivateTmp=yes\n"));
    assert!(unit("/bin/palyrad", "/tmp/a").contains("PrivateTmp=no\n"));
}

#[test]
fn a_unit_of_somebody_else_names_its_program_too() {
    assert_eq!(
        program("[Service]\nExecStart=/usr/bin/palyrad -x\n"),
        Some("/usr/bin/palyrad".into())
    );
    assert_eq!(program("[Service]\n"), None);
    let inline = "[Service]\nExecStart=/usr/bin/palyrad --data-dir=/srv/x -x\n";
    assert_eq!(data_dir(inline), Some("/srv/x".into()));
    assert_eq!(data_dir("[Service]\nExecStart=/usr/bin/palyrad\n"), None);
}

/// Where systemd is installed it says itself whether it understands the unit.
#[test]
fn systemd_understands_the_unit() {
    let folder = palyra_testkit::fs::ScratchDir::new().unwrap();
    let path = folder.path().join("palyra.service");
    std::fs::write(&path, unit("/bin/true", folder.path().to_str().unwrap())).unwrap();
    let verify = std::process::Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&path)
        .output();
    let Ok(verified) = verify else { return };
    let said = String::from_utf8_lossy(&verified.stderr);
    let about_ours: Vec<_> = said.lines().filter(|line| line.contains("palyra.service")).collect();
    assert!(about_ours.is_empty(), "{said}");
}
