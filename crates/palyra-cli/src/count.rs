//! How many there are, for people.

/// `1 message waits`, `2 messages wait`.
pub(crate) fn of(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
