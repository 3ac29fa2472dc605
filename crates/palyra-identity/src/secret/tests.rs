use super::{Digest, SECRET_CHARS, Secret};

#[test]
fn a_secret_has_256_bits_and_never_repeats() {
    let (one, other) = (Secret::random("ply_"), Secret::random("ply_"));
    assert_ne!(one.expose(), other.expose());
    assert_eq!(one.expose().len(), "ply_".len() + SECRET_CHARS);
    assert!(Digest::of_presented("ply_", one.expose()) == Some(Digest::of(&one)));
}

#[test]
fn a_secret_prints_nothing_of_itself() {
    assert_eq!(format!("{:?}", Secret::random("")), "Secret(…)");
}

#[test]
fn what_cannot_be_a_secret_is_not_looked_up() {
    let secret = Secret::random("ply_");
    let text = secret.expose();
    for wrong in ["", "ply_", &text[4..], &text[..text.len() - 1], &format!("{text}a")] {
        assert!(Digest::of_presented("ply_", wrong).is_none(), "{wrong}");
    }
    let blank = format!("ply_{}", " ".repeat(SECRET_CHARS));
    assert!(Digest::of_presented("ply_", &blank).is_none());
}
