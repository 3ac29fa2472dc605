use super::*;

#[test]
fn the_help_names_every_code() {
    let all = [
        Exit::Ok,
        Exit::Failed,
        Exit::Usage,
        Exit::NoDaemon,
        Exit::NotAllowed,
        Exit::NotFound,
        Exit::Conflict,
        Exit::Faults,
        Exit::Declined,
        Exit::Interrupted,
    ];
    let named: Vec<_> = TABLE
        .lines()
        .skip(1)
        .filter(|line| !line.starts_with("     "))
        .map(|line| line.split_whitespace().next().unwrap().parse::<u8>().unwrap())
        .collect();
    assert_eq!(named, all.map(|exit| exit.code()));
}
