//! What the console is to show.

use palyra_common::CrossSurfaceHandoff;
use palyra_common::ids::{ApprovalId, ConnectorId, ObjectiveId, RunId, SessionId, SurfaceId};
use palyra_common::runtime_contracts::{HandoffIntent, HandoffSection, TelemetrySurface};

#[cfg(test)]
mod tests;

#[derive(Debug, Default, clap::Args)]
pub(super) struct Target {
    /// The page: overview, chat, runs, approvals, channels, webhooks, skills, memory, routines, objectives,
    /// secrets, access, policy, settings or diagnostics; without it, that of what is named
    #[arg(long, value_name = "PAGE")]
    section: Option<HandoffSection>,
    /// The session to show
    #[arg(long, value_name = "SESSION")]
    session: Option<SessionId>,
    /// The run to show
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
    /// The approval to show
    #[arg(long, value_name = "APPROVAL")]
    approval: Option<ApprovalId>,
    /// The objective to show
    #[arg(long, value_name = "OBJECTIVE")]
    objective: Option<ObjectiveId>,
    /// The channel to show
    #[arg(long, value_name = "CHANNEL")]
    connector: Option<ConnectorId>,
    /// The card to show
    #[arg(long, value_name = "CARD")]
    surface: Option<SurfaceId>,
    /// What to do there: approve, resume-session, reopen-canvas, inspect-run, inspect-channel,
    /// inspect-diagnostics or open-objective
    #[arg(long, value_name = "INTENT")]
    intent: Option<HandoffIntent>,
}

impl Target {
    /// Nothing where nothing is named: then it is the front page.
    pub(super) fn handoff(self) -> Option<CrossSurfaceHandoff> {
        let section = self.section.or_else(|| self.section_of_what_is_named())?;
        Some(CrossSurfaceHandoff {
            session_id: self.session,
            run_id: self.run,
            approval_id: self.approval,
            objective_id: self.objective,
            connector_id: self.connector,
            surface_id: self.surface,
            intent: self.intent,
            ..CrossSurfaceHandoff::to_section(section, TelemetrySurface::Cli)
        })
    }

    /// The narrowest first: a question belongs to a run, and a run to a session.
    fn section_of_what_is_named(&self) -> Option<HandoffSection> {
        let named = [
            (self.approval.is_some(), HandoffSection::Approvals),
            (self.run.is_some(), HandoffSection::Runs),
            (self.session.is_some() || self.surface.is_some(), HandoffSection::Chat),
            (self.connector.is_some(), HandoffSection::Channels),
            (self.objective.is_some(), HandoffSection::Objectives),
        ];
        let named = named.into_iter().find_map(|(is_named, section)| is_named.then_some(section));
        named.or_else(|| self.intent.map(section_of))
    }
}

/// Where it is done.
const fn section_of(intent: HandoffIntent) -> HandoffSection {
    match intent {
        HandoffIntent::Approve => HandoffSection::Approvals,
        HandoffIntent::ResumeSession | HandoffIntent::ReopenCanvas => HandoffSection::Chat,
        HandoffIntent::InspectRun => HandoffSection::Runs,
        HandoffIntent::InspectChannel => HandoffSection::Channels,
        HandoffIntent::InspectDiagnostics => HandoffSection::Diagnostics,
        HandoffIntent::OpenObjective => HandoffSection::Objectives,
    }
}
