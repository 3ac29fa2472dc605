//! Side calls to models: their life, which model is asked, what follows an attempt, and what takes the
//! place of an output that no model gave.

use palyra_common::runtime_contracts::{
    AuxiliaryPreference, AuxiliaryReason, AuxiliaryTaskState as State, ModelLatency, RetryClass,
};

mod fallback;
#[cfg(test)]
mod tests;

pub use fallback::{excerpt, fallback, title_of};

/// What happens to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A worker begins with it.
    Taken,
    /// Its worker puts it off, or is gone.
    Returned,
    /// A model has met its contract.
    Met,
    /// None has, and none will.
    GivenUp,
    /// It is no longer wanted.
    Cancelled,
}

/// Whether nothing can happen to a task any more.
pub fn is_final(state: State) -> bool {
    match state {
        State::Succeeded | State::Failed | State::Cancelled => true,
        State::Pending | State::Running => false,
    }
}

/// Where a task goes from `from`. Nothing: it stays.
pub fn step(from: State, event: Event) -> Option<State> {
    match (from, event) {
        (State::Succeeded | State::Failed | State::Cancelled, _) => None,
        (State::Pending, Event::Taken) => Some(State::Running),
        (State::Running, Event::Returned) => Some(State::Pending),
        (State::Running, Event::Met) => Some(State::Succeeded),
        (State::Pending | State::Running, Event::GivenUp) => Some(State::Failed),
        (State::Pending | State::Running, Event::Cancelled) => Some(State::Cancelled),
        (State::Pending, Event::Returned | Event::Met) | (State::Running, Event::Taken) => None,
    }
}

/// What came of asking a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// An answer that meets the contract.
    Valid,
    /// One that does not.
    Invalid,
    /// One that has more tokens than it may have.
    TooLong,
    /// A refusal.
    Refused,
    /// Nothing.
    Failed(RetryClass),
    /// Nothing in time.
    TimedOut,
}

/// What follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The task is done.
    Succeed,
    /// The model is told what is wrong with its answer.
    Repair,
    /// It is asked again later.
    Later,
    /// The failure mode of the task applies.
    GiveUp(AuxiliaryReason),
}

/// How often a task was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tries {
    /// Repairs, in the attempt that has just ended.
    pub repairs: u32,
    /// Attempts that came to nothing, with this one.
    pub failures: u32,
    /// How many of these there may be.
    pub most_failures: u32,
}

/// What follows an attempt: one repair, and again only what may pass by itself.
pub fn next(came: Came, tries: Tries) -> Next {
    let again = tries.failures < tries.most_failures;
    match came {
        Came::Valid => Next::Succeed,
        Came::Invalid if tries.repairs == 0 => Next::Repair,
        Came::Invalid => Next::GiveUp(AuxiliaryReason::InvalidOutput),
        // It has shown that it does not keep to what it is told about that.
        Came::TooLong => Next::GiveUp(AuxiliaryReason::OverBudget),
        Came::Refused => Next::GiveUp(AuxiliaryReason::ModelRefused),
        Came::Failed(RetryClass::Permanent) => Next::GiveUp(AuxiliaryReason::ModelFailed),
        Came::Failed(
            RetryClass::RateLimit | RetryClass::TransientNetwork | RetryClass::ConnectorRestarting,
        ) => match again {
            true => Next::Later,
            false => Next::GiveUp(AuxiliaryReason::ModelFailed),
        },
        Came::TimedOut => Next::GiveUp(AuxiliaryReason::TimedOut),
    }
}

/// A model that may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Whether it does what it is told, rather than following rules of its own.
    pub follows: bool,
    /// Whether it looks at pictures.
    pub images: bool,
    /// How soon it answers.
    pub latency: ModelLatency,
    /// What some tokens cost with it, in whichever unit is the same for all.
    pub cost: u64,
}

/// Which of them are asked, by their places and in this order. Where a preference says nothing, the
/// order stays.
pub fn preferred(preference: AuxiliaryPreference, candidates: &[Candidate]) -> Vec<usize> {
    let able = |place: &usize| {
        let of = candidates[*place];
        of.follows && (of.images || preference != AuxiliaryPreference::VisionCapable)
    };
    let mut places: Vec<usize> = (0..candidates.len()).filter(able).collect();
    match preference {
        AuxiliaryPreference::LowCost => places.sort_by_key(|place| candidates[*place].cost),
        AuxiliaryPreference::LowLatency => places.sort_by_key(|place| candidates[*place].latency),
        AuxiliaryPreference::VisionCapable => {}
    }
    places
}
