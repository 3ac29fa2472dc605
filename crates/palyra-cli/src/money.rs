//! What something costs.

/// Millionths of a dollar, for people: `$0.0123`.
pub(crate) fn dollars(micros: u64) -> String {
    let (whole, part) = (micros / 1_000_000, format!("{:06}", micros % 1_000_000));
    // Cents stay, and so does whatever is below them.
    let part = match part.trim_end_matches('0') {
        short if short.len() < 2 => &part[..2],
        long => long,
    };
    format!("${whole}.{part}")
}

#[cfg(test)]
mod tests {
    use super::dollars;

    #[test]
    fn no_part_of_a_cent_is_lost() {
        for (micros, text) in [
            (0, "$0.00"),
            (1, "$0.000001"),
            (500_000, "$0.50"),
            (1_230_000, "$1.23"),
            (12_345_600, "$12.3456"),
        ] {
            assert_eq!(dollars(micros), text);
        }
    }
}
