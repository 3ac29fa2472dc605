use super::*;

#[test]
fn what_commands_a_terminal_is_shown_instead_of_done() {
    assert_eq!(printable("anna: grüße, 日本"), "anna: grüße, 日本");
    assert_eq!(printable("\x1b[2Jgone"), "\\u{1b}[2Jgone");
    assert_eq!(printable("a\nb\u{202e}c"), "a\\nb\\u{202e}c");
    assert_eq!(printable("\u{9b}31m"), "\\u{9b}31m");
}

#[test]
fn colours_are_for_terminals() {
    let off = Output { json: false, colour: false, address: Address::default() };
    let on = Output { json: false, colour: true, address: Address::default() };
    assert_eq!(off.paint(Tone::Bad, "failed"), "failed");
    assert_eq!(on.paint(Tone::Bad, "failed"), "\x1b[31mfailed\x1b[0m");
}

#[test]
fn the_help_about_output_fits_a_terminal() {
    let long: Vec<_> = HELP.lines().filter(|line| line.chars().count() > 100).collect();
    assert!(long.is_empty(), "{long:?}");
}
