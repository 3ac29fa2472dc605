//! Tells SQL from prose.

use std::sync::LazyLock;

use regex::Regex;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Statement {
    /// Names tables or columns.
    Data,
    /// Speaks to the engine about the connection or the transaction; names no table.
    Session,
}

/// What kind of SQL a string holds, if any.
///
/// Keywords in capitals are taken at their word where a statement can start. In small letters they
/// are also English, so there the shape has to be one that prose does not have.
pub(super) fn recognise(text: &str) -> Option<Statement> {
    let text = without_arguments(without_preface(text).trim());
    let small = text.to_ascii_lowercase();
    let matches = |pattern: &&Pattern| match pattern.letters {
        Letters::AsWritten => pattern.regex.is_match(&text),
        Letters::Any => pattern.regex.is_match(&small),
    };
    PATTERNS.iter().find(matches).map(|pattern| pattern.statement)
}

/// The statement without its comments, its quoted texts, and what may stand before its verb.
fn without_preface(text: &str) -> String {
    static COMMENTS: LazyLock<Regex> =
        LazyLock::new(|| compile(r"(?m)/\*(?s:.*?)\*/|^[ \t]*--.*$"));
    // Within a word the sign is an apostrophe.
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| compile(r"(^|\W)'(?:[^']|'')*'"));
    static PREFACE: LazyLock<Regex> = LazyLock::new(|| {
        let before = [
            r"explain\s+(?:query\s+plan\s+|analyze\s+|verbose\s+|\([^)]*\)\s*)*",
            r"declare\s+\w+\s+(?:[a-z]+\s+){0,3}cursor\s+(?:with(?:out)?\s+hold\s+)?for\s+",
            r"prepare\s+\w+(?:\s*\([^)]*\))?\s+as\s+",
            r"(?:union|intersect|except)\s+(?:all\s+)?",
        ];
        let verbs = "(select|insert|update|delete|merge|with|replace)";
        compile(&format!(r"^\s*(?:{})\b{verbs}\s", before.join("|")))
    });
    let text = COMMENTS.replace_all(text, " ");
    let text = QUOTED.replace_all(&text, "$1''");
    let verb =
        PREFACE.captures(&text.to_ascii_lowercase()).and_then(|found| Some(found.get(1)?.start()));
    let start = verb.unwrap_or(0);
    text[start..].to_owned()
}

/// Empties brackets that hold no query of their own, so that `extract(epoch FROM now())` does not
/// look like a table is read.
fn without_arguments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        let inside = text[at + letter.len_utf8()..].trim_start().get(..6).unwrap_or_default();
        let opens_query = inside.eq_ignore_ascii_case("SELECT");
        match letter {
            '(' if depth > 0 || !opens_query => depth += 1,
            ')' if depth > 1 => depth -= 1,
            ')' if depth == 1 => {
                depth = 0;
                kept.push_str("()");
            }
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    // An opened bracket may never close in a string that is a part of a statement.
    if depth > 0 {
        kept.push('(');
    }
    kept
}

struct Pattern {
    statement: Statement,
    letters: Letters,
    regex: Regex,
}

/// Which letters a pattern is about.
#[derive(Clone, Copy)]
enum Letters {
    AsWritten,
    Any,
}

/// A statement starts where the string, a line, another statement or a bracket ends before it.
const START: &str = r"(?:^|[;(\n])\s*";

/// Statements in capitals, anywhere in the string where one can start.
const DATA: &[&str] = &[
    r"SELECT\s(?s:.*)\sFROM\s+[\w\x22{]",
    r"(?:INSERT|REPLACE)\s+(?:OR\s+[A-Z]+\s+)?INTO\s",
    r"UPDATE\s+(?:OR\s+[A-Z]+\s+|ONLY\s+)?<name>\s+(?:(?:AS\s+)?\w+\s+)?SET(?:\s|$)",
    r"DELETE\s+FROM\s",
    r"MERGE\s+INTO\s",
    r"TRUNCATE\s+(?:TABLE\s+)?(?:ONLY\s+)?<name>(?:\s*,\s*<name>)*\s*(?:;|$|(?:CASCADE|RESTRICT|RESTART|CONTINUE)\b)",
    r"WITH\s+(?:RECURSIVE\s+)?\w+\s*(?:\(\)\s*)?AS\s+(?:NOT\s+)?(?:MATERIALIZED\s+)?\(",
    r"CREATE\s+(?:[A-Z]+\s+){0,2}(?:TABLE|INDEX|VIEW|TRIGGER|FUNCTION|SEQUENCE|TYPE|SCHEMA|DATABASE)\s",
    r"ALTER\s+(?:TABLE|INDEX|VIEW|TYPE|SEQUENCE|SCHEMA|DATABASE)\s",
    r"DROP\s+(?:TABLE|INDEX|VIEW|TRIGGER|FUNCTION|SEQUENCE|TYPE|SCHEMA|DATABASE)\s",
    r"COPY\s+[\w\x22{]+\s*(?:\(\)\s*)?(?:FROM|TO)\s",
    r"LOCK\s+TABLE\s",
    r"LOCK\s+<table>(?:\s*,\s*<table>)*\s*(?:;|$|IN\s+[A-Z ]+\sMODE\b)",
    r"(?:VACUUM|ANALYZE|REINDEX)(?:\s+(?:FULL|FREEZE|VERBOSE|ANALYZE|TABLE|INDEX|CONCURRENTLY)|\s*\(\))*\s+<table>(?:\(\))?\s*(?:;|$)",
    r"(?:GRANT|REVOKE)\s+(?:ALL|SELECT|INSERT|UPDATE|DELETE|TRUNCATE|REFERENCES|TRIGGER|USAGE|EXECUTE|CREATE|CONNECT)\b[^;]*\sON\s",
];

/// Statements that name no table, recognised only as the whole string.
const SESSION: &[&str] = &[
    r"BEGIN(?:\s+(?:IMMEDIATE|EXCLUSIVE|DEFERRED|TRANSACTION|READ|ISOLATION)\b[\w\s,]*)?",
    r"begin\s+(?:immediate|exclusive|deferred|transaction)",
    r"START\s+TRANSACTION\b[\w\s,]*",
    r"(?:COMMIT|ROLLBACK)(?:\s+(?:TRANSACTION|WORK|PREPARED\s+\S+))?",
    r"ROLLBACK\s+TO\s+(?:SAVEPOINT\s+)?\S+",
    r"(?:SAVEPOINT|RELEASE|RELEASE\s+SAVEPOINT|LISTEN|UNLISTEN|NOTIFY)\s+[\w\x22{}*]+",
    r"SET\s+(?:(?:LOCAL|SESSION)\s+[\w.]+|\w+_timeout|application_name|search_path|synchronous_commit)\s*(?:=|TO\s)[^$?]*",
    r"SET\s+(?:LOCAL\s+|SESSION\s+)?(?:TRANSACTION|CHARACTERISTICS|CONSTRAINTS)\s.*",
    r"SHOW\s+[\w.]+",
    r"VACUUM(?:\s+INTO\s+\S+|\s+(?:FULL|ANALYZE))?",
    r"(?:ANALYZE|REINDEX|CHECKPOINT)",
    r"ATTACH\s+DATABASE\s.+",
    r"SELECT\s+(?:\d+|[\w.]+\(\))(?:\s+AS\s+\w+)?",
];

/// Parts of statements: a string that starts like this was cut out of one.
const FRAGMENTS: &[&str] = &[
    r"WHERE\s+[\w.\x22{}(]+\s*(?:=|<|>|!=|\s(?:IN|IS|LIKE|NOT|BETWEEN)\s)",
    r"(?:ORDER|GROUP)\s+BY\s+[\w.\x22{]",
    r"(?:LEFT|RIGHT|FULL|INNER|CROSS)\s+(?:OUTER\s+)?JOIN\s+<name>",
    r"JOIN\s+\w+\s",
    r"ON\s+CONFLICT\s*(?:\(|DO\s)",
    r"(?:FROM|RETURNING)\s+[a-z_]\w*(?:\s*,\s*\w+)*$",
    r"FROM\s+<source>(?:\s*,\s*<source>)*\s+(?:WHERE|ORDER|GROUP|HAVING|LIMIT|UNION|RETURNING|FOR|(?:[A-Z]+\s+){0,2}JOIN)\b",
    r"SET\s+<name>\s*=[^;]*\sWHERE\s",
    r"VALUES\s*\(",
];

/// What is left of an `UPDATE` without its beginning, unless it sets something of the session.
const ASSIGNMENT: &str = r"SET\s+<name>\s*=";

/// What the patterns call by a name. A table starts with a small letter where a keyword in capitals
/// could stand in its place; an item is one column of a `select` in small letters.
const PARTS: &[(&str, &str)] = &[
    ("<source>", r"<table>(?:\s+(?:AS\s+)?[a-z]\w*)?"),
    ("<table>", r"[a-z_\x22{][\w.\x22{}]*"),
    ("<name>", r"[\w.\x22{}]+"),
    ("<item>", r"[\w.*$\x22{}]+(?:\(\))?(?:\s+as\s+\w+)?"),
];

/// Statements in small or mixed letters, with enough around the keywords to tell them from English.
const SMALL: &[&str] = &[
    r"select\s+(?:distinct\s+)?[\w.]+\s+from\s+[\w.]+(?:\s+limit\s.*)?$",
    r"select\s+\d+\s+from\s+[\w.]+",
    r"with\s+(?:recursive\s+)?\w+\s*(?:\(\)\s*)?as\s+\(select\s",
    r"select\s+(?:\*|[\w.]+\(.*\)|[\w.]+(?:\s*,\s*[\w.*]+)+)\s+from\s+[\w.]+",
    r"select\s+[\w.]+\s+from\s+<name>\s*(?:;|\s+where\s+[\w.]+\s*(?:=|<|>|in\s|is\s)|\s+(?:order|group)\s+by\s)",
    r"(?:insert|replace)\s+into\s+<name>\s*(?:\(|(?:default\s+)?values\b|select\s)",
    r"select\s+<item>(?:\s*,\s*<item>)+\s+from\s+[\w.\x22{]",
    r"select\s+[\x22{]\w+[\x22}]\s+from\s+[\w.\x22{]",
    r"select\s+<item>\s+from\s+<name>\s*(?:;|$)",
    r"select\s+<item>\s+from\s+<name>\s+(?:as\s+)?\w+\s+(?:where\s+[\w.]+\s*(?:=|<|>|in\s*\()|join\s+\w+\s)",
    r"update\s+<name>\s+(?:(?:as\s+)?\w+\s+)?set\s+[\w.]+\s*=",
    r"delete\s+from\s+<name>\s+(?:as\s+)?\w+\s+where\s+[\w.]+\s*(?:=|<|>|in\s*\()",
    r"merge\s+into\s+[\w.]+\s(?s:.*)\swhen\s+(?:not\s+)?matched\s",
    r"delete\s+from\s+<name>\s+where\s+[\w.]+\s*(?:=|<|>|in\s|is\s)",
    r"delete\s+from\s+[\w.]+\s*(?:;|$)",
    r"create\s+(?:unique\s+|temp\s+|temporary\s+|virtual\s+)?table\s+(?:if\s+not\s+exists\s+)?[\w.]+\s*(?:\(|using\s)",
    r"create\s+(?:unique\s+)?index\s+(?:if\s+not\s+exists\s+)?[\w.]+\s+on\s+[\w.]+\s*\(",
    r"alter\s+table\s+[\w.]+\s+(?:add|drop|rename|alter)\s",
    r"drop\s+(?:table|index|view|trigger)\s+(?:if\s+exists\s+[\w.]+|[\w.]+\s*(?:;|$))",
    r"pragma\s+(?:\w+\.)?(?:table_x?info|index_list|index_x?info|foreign_key_list|foreign_key_check)\s*(?:=|\()",
];

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let pattern = |statement, letters, source: String| Pattern {
        statement,
        letters,
        regex: compile(&source),
    };
    let data = |source| pattern(Statement::Data, Letters::AsWritten, source);
    let session = |source| pattern(Statement::Session, Letters::AsWritten, source);
    let small =
        SMALL.iter().map(|body| pattern(Statement::Data, Letters::Any, format!("{START}{body}")));
    let mut patterns: Vec<Pattern> =
        DATA.iter().map(|body| data(format!("{START}{body}"))).collect();
    patterns.extend(small);
    patterns.extend(FRAGMENTS.iter().map(|body| data(format!("^{body}"))));
    patterns.extend(SESSION.iter().map(|body| session(format!(r"^(?:{body})\s*;?$"))));
    patterns.push(session(format!(r"{START}(?:PRAGMA|pragma)\s+[\w.{{}}]+\s*(?:=|\(|;|$)")));
    patterns.push(data(format!("^{ASSIGNMENT}")));
    patterns
});

fn compile(pattern: &str) -> Regex {
    let spelled = PARTS
        .iter()
        .fold(pattern.to_owned(), |pattern, (name, spelling)| pattern.replace(name, spelling));
    Regex::new(&spelled).expect("the patterns above are valid")
}

#[cfg(test)]
mod tests;
