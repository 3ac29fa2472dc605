//! `docs/palyra.example.toml`, made from the definitions.

use super::options;

const HEAD: &str = "\
# The configuration of palyrad, with every option at its default. Copy what you change into
# palyra.toml in the data directory, or name another file with --config.
#
# An option can also be set in the environment, where http.bind is PALYRA_HTTP_BIND, and some on the
# command line, where it is --http-bind. The command line comes before the environment, which comes
# before this file. Options marked with (live) take effect at SIGHUP, the others at the next start.
# Secrets do not belong here: keep them with palyra secrets set. A section with NAME in its name is
# one of any number, under names of your choice; its options are in this file only.
";

/// How wide a comment may be.
const WIDTH: usize = 98;

pub(crate) fn render() -> String {
    let mut text = HEAD.to_owned();
    let mut table = "";
    for option in options::all() {
        if option.table() != table {
            table = option.table();
            text.push('\n');
            comment(&mut text, &options::table_doc(table));
            // One that is there has to be complete.
            let mark = if option.is_chosen() { "# " } else { "" };
            text.push_str(&format!("{mark}[{table}]\n"));
        } else {
            text.push('\n');
        }
        let live = if option.is_live() { " (live)" } else { "" };
        comment(&mut text, &format!("{}{live}", option.doc));
        text.push_str(&format!("# {} = {}\n", option.name(), option.default));
    }
    text
}

fn comment(text: &mut String, words: &str) {
    for paragraph in words.split("\n\n") {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
                text.push_str(&format!("# {line}\n"));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        text.push_str(&format!("# {line}\n"));
    }
}
