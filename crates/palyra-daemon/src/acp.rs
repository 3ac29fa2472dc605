//! The Agent Control Protocol, behind whichever door a command comes through.

use palyra_common::api::{AcpCommandEnvelope, AcpCommandResultEnvelope};
use palyra_identity::Access;

use crate::app::App;

/// Carries out a command of whoever has `access`, and came from `origin`, as it stands in the audit trail.
/// A refusal is an answer, too.
pub(crate) async fn dispatch(
    app: &App,
    access: &Access,
    origin: &str,
    envelope: AcpCommandEnvelope,
) -> AcpCommandResultEnvelope {
    app.runs.commands.dispatch_acp_command(access, origin, envelope).await
}
