//! `surface.action` takes on what somebody did on a surface, which a run answers. The
//! version that is expected is that of the surface.

use palyra_common::api::Submitted;
use palyra_common::api::acp::params::SurfaceAct;
use palyra_common::runtime_contracts::Scope;

use crate::acp::{Call, Command, Refused, Work};
use crate::sessions::Sessions;
use crate::surfaces::Acted;

pub(in crate::acp) fn command(sessions: &Sessions) -> Command {
    Command::changes("surface.action", Scope::SessionsWrite, sessions, action).with_version()
}

async fn action(sessions: Sessions, asked: SurfaceAct, call: Call) -> Result<Work, Refused> {
    let Call { actor, now, expected_version } = call;
    let SurfaceAct { session, action } = asked;
    let acted = Acted::new(session, action, &actor.by, sessions.free_hand())?;
    Ok(Work::new(move |tx| {
        let submitted = acted.take_on(tx, expected_version, now)?;
        Ok(Submitted { run: submitted.run, session: submitted.session })
    }))
}
