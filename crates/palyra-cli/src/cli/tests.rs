use super::*;

fn each(command: &clap::Command, path: &str, look: &mut impl FnMut(&str, &clap::Command)) {
    for below in command.get_subcommands() {
        let path = format!("{path} {}", below.get_name());
        look(&path, below);
        each(below, &path, look);
    }
}

fn built() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_says_what_it_does_and_shows_an_example() {
    each(&built(), "palyra", &mut |path, command| {
        if command.is_hide_set() {
            return;
        }
        assert!(command.get_about().is_some(), "{path} does not say what it does");
        let has_commands = command.get_subcommands().next().is_some();
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(has_commands || after.contains(path), "{path} has no example:\n{after}");
    });
}

#[test]
fn no_argument_takes_a_secret() {
    each(&built(), "palyra", &mut |path, command| {
        for argument in command.get_arguments() {
            let name = argument.get_id().as_str();
            let takes_value = argument.get_action().takes_values();
            let is_secret = ["value", "password", "token", "secret", "passphrase"].contains(&name);
            // The one value that is given as an argument is that of an option of the configuration.
            let allowed = path == "palyra config set";
            assert!(!(is_secret && takes_value) || allowed, "{path} takes {name} as an argument");
        }
    });
}

#[test]
fn the_help_of_every_command_is_as_reviewed() {
    let mut all = built().render_long_help().to_string();
    each(&built(), "palyra", &mut |path, command| {
        if !command.is_hide_set() && command.get_name() != "help" {
            let help = command.clone().render_help().to_string();
            let own = help.split("\nOptions of every command:").next().unwrap().to_owned();
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            all.push_str(&format!("\n──── {path}\n{}\n{after}\n", own.trim_end()));
        }
    });
    insta::assert_snapshot!("help", all);
}
