use super::DeploymentProfile;

#[test]
fn the_table_of_profiles_is_as_reviewed() {
    let table: Vec<_> = DeploymentProfile::ALL.iter().map(|profile| profile.spec()).collect();
    insta::assert_json_snapshot!(table);
}

#[test]
fn every_profile_has_its_own_spec_and_the_default_is_local() {
    for profile in DeploymentProfile::ALL {
        assert_eq!(profile.spec().profile, *profile);
    }
    assert_eq!(DeploymentProfile::default(), DeploymentProfile::Local);
}

#[test]
fn each_profile_makes_the_checks_of_the_one_before_it_first() {
    for pair in DeploymentProfile::ALL.windows(2) {
        let (smaller, larger) = (pair[0].spec().preflights, pair[1].spec().preflights);
        assert!(larger.starts_with(smaller) && larger.len() > smaller.len(), "{}", pair[1]);
    }
}

#[test]
fn profiles_are_read_in_snake_kebab_and_camel_case() {
    for text in ["single-vm", "single_vm", "singleVm", " Single-VM "] {
        assert_eq!(text.parse(), Ok(DeploymentProfile::SingleVm), "{text:?}");
    }
    for text in ["worker-enabled", "worker_enabled", "workerEnabled", "WORKER_ENABLED"] {
        assert_eq!(text.parse(), Ok(DeploymentProfile::WorkerEnabled), "{text:?}");
    }
}
