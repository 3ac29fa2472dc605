use super::{csrf_token, matches};
use crate::Secret;

#[test]
fn a_token_belongs_to_one_cookie() {
    let (cookie, other) = (Secret::random(""), Secret::random(""));
    let token = csrf_token(cookie.expose());
    assert_eq!(token.expose(), csrf_token(cookie.expose()).expose());
    assert!(matches(cookie.expose(), token.expose()));
    assert!(!matches(other.expose(), token.expose()));
    assert_ne!(token.expose(), cookie.expose());
}

#[test]
fn a_part_of_a_token_is_none() {
    let cookie = Secret::random("");
    let token = csrf_token(cookie.expose());
    let text = token.expose();
    let longer = format!("{text}AA");
    for wrong in ["", "AAAA", &text[..40], &longer, cookie.expose(), "not base64!"] {
        assert!(!matches(cookie.expose(), wrong), "{wrong}");
    }
}
