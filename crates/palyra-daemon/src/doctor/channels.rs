//! Whether messages go in and out.

use palyra_common::api::{Check, CheckState};

use super::{advised, check};
use crate::app::App;

const ADVICE: &str = "`palyra channels show CHANNEL` tells more. What was given up waits in \
     `palyra channels dead-letters list CHANNEL`, and what may have arrived in \
     `palyra channels unknown list CHANNEL`, for somebody to decide. A channel that lacks something is \
     tried again once it is changed, or with `palyra channels enable CHANNEL`.";

/// What keeps messages of the channels that are switched on, and what waits for a human there.
pub(super) async fn channels(app: &App) -> Check {
    let name = "channels";
    let connectors = match app.channels.connectors.list().await {
        Ok(connectors) => connectors,
        Err(error) => return check(name, CheckState::Failed, error.envelope().to_string()),
    };
    let (mut on, mut troubles) = (0, Vec::new());
    for connector in connectors.iter().filter(|connector| connector.enabled) {
        on += 1;
        match app.channels.look(connector).await {
            Ok(look) => {
                let why = look.troubles();
                if !why.is_empty() {
                    troubles.push(format!("{}: {}", connector.id, why.join(", ")));
                }
            }
            Err(error) => troubles.push(format!("{}: {}", connector.id, error.envelope())),
        }
    }
    if troubles.is_empty() {
        let well = format!("{on} switched on, and none of them is in trouble");
        return check(name, CheckState::Ok, well);
    }
    advised(check(name, CheckState::Warning, troubles.join("; ")), ADVICE)
}
