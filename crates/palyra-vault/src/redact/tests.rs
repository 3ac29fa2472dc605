use proptest::prelude::*;

use super::*;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};

fn redactor(values: &[(&str, &str)]) -> Redactor {
    let redactor = Redactor::new();
    for (at, (name, value)) in values.iter().enumerate() {
        let (name, value) = (name.parse().unwrap(), SecretString::from(*value));
        // As some come: those of the start at once, others one by one.
        if at % 2 == 0 {
            redactor.change(vec![(mark(at), name, Some(value))], []);
        } else {
            redactor.learn(&name, &value).stored_as(mark(at));
        }
    }
    redactor
}

fn mark(of: usize) -> Mark {
    of.to_be_bytes().to_vec()
}

fn check(values: &[(&str, &str)], text: &str, expected: &str) {
    let redactor = redactor(values);
    assert_eq!(redactor.redact(text), expected);
    assert_eq!(redactor.redact(expected), expected, "what is redacted stays as it is");
}

#[test]
fn the_value_goes_and_the_sentence_stays() {
    let values = [("global/key", "hunter2hunter2"), ("agent:a/b", "s3cr3t!")];
    check(&values, "nothing here", "nothing here");
    check(&values, "", "");
    check(&values, "is it hunter2hunter2?", "is it [redacted:global/key]?");
    check(&values, "hunter2hunter2hunter2", "[redacted:global/key]");
    check(
        &values,
        "s3cr3t!, then žhunter2hunter2ž",
        "[redacted:agent:a/b], then ž[redacted:global/key]ž",
    );
}

#[test]
fn values_that_overlap_go_together() {
    let values = [("global/short", "abcdef"), ("global/long", "abcdefghij")];
    check(&values, "xabcdefghijx", "x[redacted:global/long]x");
    check(&values, "xabcdefx", "x[redacted:global/short]x");
    let values = [("global/one", "abcdefg"), ("global/two", "efghijklm")];
    check(&values, "-abcdefghijklm-", "-[redacted:global/two]-");
}

#[test]
fn a_value_is_found_in_its_encodings() {
    let value = "päss \"word\"/+1";
    let values = [("global/key", value)];
    let label = "<[redacted:global/key]>";
    let json = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    };
    for form in [
        value.to_owned(),
        json(value),
        json(&json(value)),
        STANDARD.encode(value),
        STANDARD_NO_PAD.encode(value),
        URL_SAFE.encode(value),
        "p%C3%A4ss%20%22word%22%2F%2B1".into(),
        "p%c3%a4ss%20%22word%22%2f%2b1".into(),
        "p%C3%A4ss+%22word%22%2F%2B1".into(),
        crate::key::hex(value.as_bytes()),
    ] {
        check(&values, &format!("<{form}>"), label);
    }
}

#[test]
fn a_value_inside_of_base64_is_found() {
    let values = [("global/key", "hunter2hunter2")];
    for before in ["", "u", "us", "use", "user"] {
        let text = STANDARD.encode(format!("{before}:hunter2hunter2:after"));
        let redacted = redactor(&values).redact(&text).into_owned();
        assert!(redacted.contains("[redacted:global/key]"), "{before}: {redacted}");
        assert!(redacted.len() < text.len() + 8, "{before}: {redacted}");
    }
}

#[test]
fn short_values_are_not_looked_for() {
    check(&[("global/pin", "12345")], "12345 and 12345", "12345 and 12345");
    check(&[("global/pin", "123456")], "12345 and 123456", "12345 and [redacted:global/pin]");
}

#[test]
fn a_label_never_spells_a_value() {
    check(&[("global/x", "global")], "a global b", "a [redacted] b");
    check(&[("global/x", "redacted")], "a redacted b", "a *** b");
    // What the replacement and its neighbours spell.
    check(&[("global/a", "secret1"), ("global/b", "<[redacted")], "<secret1", "***:global/a]");
}

#[test]
fn values_with_a_long_common_beginning_are_told_apart() {
    let start = "x".repeat(200);
    let (one, two) = (format!("{start}1"), format!("{start}2"));
    let values = [("global/one", one.as_str()), ("global/two", two.as_str())];
    check(&values, &format!("-{one}-{two}-"), "-[redacted:global/one]-[redacted:global/two]-");
    let other = format!("-{}3-", "y".repeat(200));
    check(&values, &other, &other);
}

#[test]
fn known_shapes_go_without_being_in_the_vault() {
    let token = format!("ply_{}", "aB3-".repeat(11));
    check(&[], &format!("token {token}, and"), "token [redacted], and");
    let bot = format!("MTA{}.Gh5k2A.{}", "x".repeat(23), "y".repeat(38));
    check(&[], &format!("Bot {bot}!"), "Bot [redacted]!");
    check(&[], "key sk-proj-abcdefghij0123456789 x", "key [redacted] x");
    let github = format!("ghp_{}", "a1B2".repeat(9));
    check(&[], &format!("({github})"), "([redacted])");
    check(&[], "id AKIAIOSFODNN7EXAMPLE.", "id [redacted].");
    let aws = "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    check(&[], aws, "aws_secret_access_key = [redacted]");
    let header = "authorization: Bearer eyJhbGciOi.J9eyJzdWIi-x_y~z== next";
    check(&[], header, "authorization: Bearer [redacted] next");
    check(&[], "postgres://anna:p:ä#ss@db/x y", "postgres://anna:[redacted]@db/x y");
    let pem = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQ\n+/=\n-----END EC PRIVATE KEY-----";
    check(&[], &format!("a {pem} b"), "a [redacted] b");
    check(&[], &format!("a {} b", pem.replace('\n', "\\n")), "a [redacted] b");
    let cut = format!("-----BEGIN PRIVATE KEY-----\n{}\n", "Ab1+".repeat(16));
    check(&[], &format!("{cut}and so on"), "[redacted]\nand so on");
}

#[test]
fn what_only_resembles_a_credential_stays() {
    for text in [
        "the bearer of bad news, a basic question",
        "sk-8 and risk-taking-is-not-a-credential",
        "https://example.org:8080/a@b and mailto:a@b",
        "-----BEGIN PUBLIC KEY-----\nMHcCAQ\n-----END PUBLIC KEY-----",
        "01HQS9V9ER3KWZ4J7N2B6T8Y0D and ghp_short",
    ] {
        check(&[], text, text);
    }
}

#[test]
fn a_value_is_known_from_when_it_is_learnt_until_it_is_gone() {
    let (redactor, name) = (Redactor::new(), "global/key".parse().unwrap());
    let learnt = redactor.learn(&name, &"value one".into());
    assert_eq!(redactor.redact("value one"), "[redacted:global/key]", "on its way");
    learnt.stored_as(mark(1));
    redactor.change(Vec::new(), [mark(2)]);
    assert_eq!(redactor.redact("value one"), "[redacted:global/key]", "stored");
    // Another look at the rows found it as well.
    redactor.change(vec![(mark(1), name.clone(), Some("value one".into()))], []);
    assert_eq!(redactor.redact("value one"), "[redacted:global/key]", "twice");
    redactor.change(Vec::new(), [mark(1)]);
    assert_eq!(redactor.redact("value one"), "value one", "gone");
    assert!(redactor.known().is_empty());
}

/// Whether it was stored may not be known.
#[test]
fn values_that_were_perhaps_not_stored_are_remembered_for_a_while() {
    let (redactor, name) = (Redactor::new(), "global/key".parse().unwrap());
    drop(redactor.learn(&name, &"value one".into()));
    assert_eq!(redactor.redact("value one"), "[redacted:global/key]");
    for at in 0..MAX_UNSETTLED {
        drop(redactor.learn(&name, &format!("another value {at}").into()));
    }
    assert_eq!(redactor.redact("value one"), "value one");
    let last = format!("another value {}", MAX_UNSETTLED - 1);
    assert_eq!(redactor.redact(&last), "[redacted:global/key]");
}

/// However values come and go, all of them are found, and none that is gone.
#[test]
fn tables_that_are_joined_lose_nothing() {
    let redactor = Redactor::new();
    let (name, value) = ("global/key".parse().unwrap(), |at: usize| format!("value <{at:04}>"));
    for at in 0..100 {
        redactor.learn(&name, &value(at).into()).stored_as(mark(at));
        if at % 3 == 0 {
            redactor.change(Vec::new(), [mark(at / 3)]);
        }
    }
    for at in 0..100 {
        let redacted = redactor.redact(&value(at)) == "[redacted:global/key]";
        assert_eq!(redacted, at > 33, "{at}");
    }
    let tables = redactor.state().tables.len();
    assert!(tables <= 7, "{tables} tables");
}

#[test]
fn the_four_hundredth_value_costs_as_much_as_the_fourth() {
    let redactor = Redactor::new();
    let name = "global/key".parse().unwrap();
    let learn = |at: usize| {
        let value = format!("value {at:04} of four hundred").into();
        let began = std::time::Instant::now();
        redactor.learn(&name, &value).stored_as(mark(at));
        began.elapsed()
    };
    let took: Vec<_> = (0..400).map(learn).collect();
    // Now and then tables are joined, which costs more: those in the middle tell what is usual.
    let usual = |range: std::ops::Range<usize>| {
        let mut range = took[range].to_vec();
        range.sort();
        range[range.len() / 2]
    };
    let (first, last) = (usual(4..24), usual(380..400));
    assert!(last < first * 8, "{first:?}, then {last:?}");
    assert_eq!(redactor.redact("value 0399 of four hundred"), "[redacted:global/key]");
}

/// A text that repeats the beginning of values is the worst: each place could be one.
#[test]
fn what_a_text_costs_does_not_grow_with_the_length_of_values() {
    let text = "x".repeat(100_000);
    let took = |bytes: usize| {
        let values: Vec<_> = (0..8).map(|at| format!("{}{at}", "x".repeat(bytes))).collect();
        let values: Vec<_> = values.iter().map(|value| ("global/key", value.as_str())).collect();
        let redactor = redactor(&values);
        let once = |_| {
            let began = std::time::Instant::now();
            assert_eq!(redactor.redact(&text), text);
            began.elapsed()
        };
        // The others are those in which the machine did something else.
        (0..5).map(once).min().unwrap()
    };
    let (short, long) = (took(600), took(60_000));
    assert!(long < short * 8, "{short:?} with short values, {long:?} with long ones");
}

/// A value that repeats one letter stands everywhere in a text that does the same.
#[test]
fn places_without_number_become_one() {
    let value = "x".repeat(300);
    check(&[("global/key", &value)], &"x".repeat(100_000), "[redacted:global/key]");
}

#[test]
fn the_ends_of_a_long_value_and_its_length_tell() {
    let long = |middle: &str| format!("head{}{middle}tail", "a".repeat(400));
    let value = long("1234");
    let values = [("global/key", value.as_str())];
    check(&values, &format!("<{value}>"), "<[redacted:global/key]>");
    check(&values, &format!("<{}>", long("12345")), &format!("<{}>", long("12345")));
    let cut = &value[..value.len() - 1];
    check(&values, cut, cut);
}

#[test]
fn a_writer_lets_no_value_through() {
    use std::io::Write;
    let mut written = Vec::new();
    let mut writer =
        RedactingWriter::new(redactor(&[("global/key", "hunter2hunter2")]), &mut written);
    writer.write_all(b"INFO key=hunter2hunter2 \xff\n").unwrap();
    writer.flush().unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), "INFO key=[redacted:global/key] \u{fffd}\n");
}

fn values() -> impl Strategy<Value = Vec<String>> {
    // Few letters, so that values overlap each other and the labels.
    prop::collection::vec("[abc]{6,9}|[\\[\\]redact:*]{6,12}|\\PC{6,20}", 1..5)
}

proptest! {
    #[test]
    fn no_value_is_left(
        values in values(),
        parts in prop::collection::vec((any::<prop::sample::Index>(), "[abc]{0,5}|\\PC{0,6}"), 0..6),
    ) {
        let named: Vec<_> = values.iter().map(|value| ("global/abcabc", value.as_str())).collect();
        let redactor = redactor(&named);
        let text: String = parts.iter().map(|(at, between)| format!("{}{between}", at.get(&values))).collect();
        let redacted = redactor.redact(&text);
        for value in &values {
            prop_assert!(!redacted.contains(value.as_str()), "{value:?} is in {redacted:?}");
        }
    }

    #[test]
    fn a_text_without_values_is_unchanged(values in prop::collection::vec("[a-f]{6,9}", 1..5), text in "[g-z ,.äöü]{0,60}") {
        let named: Vec<_> = values.iter().map(|value| ("global/x", value.as_str())).collect();
        let redactor = redactor(&named);
        prop_assert!(matches!(redactor.redact(&text), Cow::Borrowed(same) if same == text));
    }
}

#[test]
fn what_may_become_a_value_is_kept_back() {
    let values = [("global/phrase", "correct horse battery"), ("global/key", "hunter2hunter2")];
    let redaction = redactor(&values).snapshot();
    let kept = |text: &str| text[text.len() - redaction.open_end(text)..].to_owned();
    assert_eq!(kept("nothing here "), "");
    assert_eq!(kept("the last word"), "word");
    assert_eq!(kept("it is correct horse "), "correct horse ");
    assert_eq!(kept("it is correct horse battery "), "", "it is whole");
    assert_eq!(kept("correct correct "), "correct ");
    assert_eq!(kept("žluťoučký kůň"), "", "no credential has such letters");
    assert_eq!(
        kept("-----BEGIN RSA PRIVATE KEY-----\nMIIE "),
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE "
    );
    let long = "x y ".repeat(200);
    let redaction = redactor(&[("global/long", &long)]).snapshot();
    let text = format!("so {}", &long[..500]);
    assert_eq!(redaction.open_end(&text), 500);
}

proptest! {
    /// However a text comes, what is shown of it piece by piece is what is shown of the whole.
    #[test]
    fn a_text_that_comes_in_pieces_shows_no_more_than_the_whole(
        parts in proptest::collection::vec("(a b c d|abc|b c|c d|[a-d ]{0,4}|ž)", 0..12),
    ) {
        let redaction = redactor(&[("global/one", "a b c d"), ("global/two", "c d a b")]).snapshot();
        let (mut text, mut shown) = (String::new(), String::new());
        for part in &parts {
            text.push_str(part);
            let settled = &text[..text.len() - redaction.open_end(&text)];
            let now = redaction.redact(settled).into_owned();
            prop_assert!(now.starts_with(&shown), "{now:?} does not go on from {shown:?}");
            shown = now;
        }
        prop_assert!(redaction.redact(&text).starts_with(&shown));
    }
}
