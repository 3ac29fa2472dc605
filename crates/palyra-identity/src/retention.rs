use palyra_common::time::Duration;
use palyra_storage::retention::{Keep, Rule};

use crate::store::{api_tokens, console_logins, login_codes};

/// How long what has ended is kept. What has not ended stays, however many there are: it is
/// bounded by its expiry, or by those who make tokens.
pub fn rules() -> Vec<Rule> {
    let keep = |days| Keep { age: Duration::from_days(days), count: i64::MAX };
    vec![
        Rule {
            table: "login_codes",
            keep: keep(1),
            step: |tx, step| login_codes::sweep(tx, step.before, step.limit),
        },
        Rule {
            table: "console_logins",
            keep: keep(30),
            step: |tx, step| console_logins::sweep(tx, step.before, step.limit),
        },
        Rule {
            table: "api_tokens",
            // As long as the journal, which speaks of them.
            keep: keep(400),
            step: |tx, step| api_tokens::sweep(tx, step.before, step.limit),
        },
    ]
}
