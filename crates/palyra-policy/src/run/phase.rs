//! The phases of a run.

use palyra_common::runtime_contracts::RunLifecyclePhase as Phase;

/// What happens to a run as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A worker has it.
    Taken,
    /// Its deadline passed.
    DeadlinePassed,
    /// It cannot go on without a human.
    NeedsHuman,
    /// The human decided, or did not in time.
    Decided,
    /// It goes on later: a retry, or a run that it waits for.
    Later,
    /// An operator pauses it.
    Paused,
    /// An operator lets it go on.
    Resumed,
    /// It gave its answer, or the part of it that a limit allowed.
    Answered,
    /// It cannot go on at all.
    Failed,
    /// Somebody stopped it.
    Aborted,
}

/// Whether nothing can happen to a run any more.
pub fn is_final(phase: Phase) -> bool {
    match phase {
        Phase::Completed | Phase::Failed | Phase::Aborted | Phase::Expired => true,
        Phase::Queued | Phase::Running | Phase::WaitingForApproval | Phase::Paused => false,
    }
}

/// Where a run goes from `from`. Nothing: it stays.
pub fn phase(from: Phase, event: Event) -> Option<Phase> {
    use Event as E;
    match (from, event) {
        (from, _) if is_final(from) => None,
        (_, E::Aborted) => Some(Phase::Aborted),
        (Phase::Queued, E::Taken) => Some(Phase::Running),
        (Phase::Queued, E::DeadlinePassed) => Some(Phase::Expired),
        (Phase::Running, E::NeedsHuman) => Some(Phase::WaitingForApproval),
        (Phase::WaitingForApproval, E::Decided) => Some(Phase::Queued),
        (Phase::Running, E::Later) => Some(Phase::Queued),
        (Phase::Running | Phase::Queued | Phase::WaitingForApproval, E::Paused) => {
            Some(Phase::Paused)
        }
        (Phase::Paused, E::Resumed) => Some(Phase::Queued),
        (Phase::Running, E::Answered) => Some(Phase::Completed),
        (Phase::Running, E::Failed) => Some(Phase::Failed),
        (
            _,
            E::Taken
            | E::DeadlinePassed
            | E::NeedsHuman
            | E::Decided
            | E::Later
            | E::Paused
            | E::Resumed
            | E::Answered
            | E::Failed,
        ) => None,
    }
}
