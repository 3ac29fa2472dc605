use super::*;

const US: u32 = 1_000;
const THEM: u32 = 1_001;

fn check(file: (u32, u32), folder: (u32, u32), expected: Option<Doubt>) {
    let of = |(owner, mode)| Standing { owner, mode };
    assert_eq!(doubt(of(file), of(folder), US), expected, "{file:?} in {folder:?}");
}

#[test]
fn a_file_that_only_we_and_root_can_change_is_relied_on() {
    for owner in [US, ROOT] {
        check((owner, 0o644), (owner, 0o755), None);
        check((owner, 0o600), (owner, 0o700), None);
    }
    // Only the owner of a file may replace it there.
    check((US, 0o600), (ROOT, 0o1777), None);
}

#[test]
fn what_others_may_write_matters_where_they_get_at_it() {
    for mode in [0o660, 0o602, 0o666] {
        check((US, mode), (US, 0o700), None);
        check((US, mode), (US, 0o744), None);
        for folder in [0o755, 0o710, 0o701] {
            check((US, mode), (US, folder), Some(Doubt::Writable));
        }
    }
}

#[test]
fn whoever_may_write_the_folder_may_replace_the_file() {
    for folder in [0o770, 0o702, 0o777] {
        check((US, 0o600), (US, folder), Some(Doubt::Replaceable));
    }
}

#[test]
fn whoever_owns_something_may_change_it_whatever_its_mode() {
    check((THEM, 0o400), (US, 0o700), Some(Doubt::Foreign));
    check((US, 0o600), (THEM, 0o755), Some(Doubt::ForeignFolder));
}
