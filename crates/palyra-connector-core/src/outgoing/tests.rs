use super::*;

/// Takes one word out.
struct Without(&'static str);

impl Outgoing for Without {
    fn clean(&self, text: &str) -> String {
        text.replace(self.0, "*")
    }

    fn snapshot(&self) -> Arc<dyn Outgoing> {
        Arc::new(Self(self.0))
    }
}

#[test]
fn a_text_is_cleaned_before_it_is_cut() {
    let pieces = CleanText::pieces("it is geheim", 9, &Without("geheim"));
    assert_eq!(pieces.iter().map(CleanText::as_str).collect::<Vec<_>>(), ["it is *"]);
    assert_eq!(CleanText::of("it is geheim", &Without("geheim")).as_str(), "it is *");
}

#[test]
fn a_row_holds_the_text_alone() {
    let text = CleanText::of("it is so", &Without("geheim"));
    assert_eq!(serde_json::to_string(&text).unwrap(), r#""it is so""#);
    assert_eq!(serde_json::from_str::<CleanText>(r#""it is so""#).unwrap(), text);
}
