//! What a run uses, charged to its budgets and to the runs that it works for: a cap of theirs holds
//! for all who work below them.

use std::collections::BTreeMap;

use palyra_common::agent::{AgentSpec, Cap};
use palyra_common::ids::{AgentId, RunId, SessionId};
use palyra_common::time::Timestamp;
use palyra_policy::budget::{Amount, allows};
use palyra_storage::{StorageError, Tx};

use super::commit::{Committed, Undo};
use crate::store::budgets::{self, Reservation};
use crate::store::runs::Run;
use crate::store::{agents, runs};

/// A run that another one works for, and what its agent is.
#[derive(Debug, Clone)]
pub(crate) struct Above {
    pub(crate) run: Run,
    pub(crate) agent: AgentSpec,
}

/// What is to be set aside before a model is asked.
#[derive(Debug, Clone)]
pub(crate) struct Reserve {
    pub(crate) turn: u32,
    pub(crate) attempt: u32,
    pub(crate) amount: Amount,
    /// The cap of the run itself.
    pub(crate) cap: Cap,
    /// Those of the runs above it, the nearest first.
    pub(crate) above: Vec<(RunId, Cap)>,
    /// Budgets by name, in the order in which they are locked.
    pub(crate) scopes: BTreeMap<String, Cap>,
}

/// The runs that a run works for, the nearest first.
pub(super) fn above(tx: &mut Tx<'_>, run: &Run) -> Result<Vec<Above>, StorageError> {
    let (mut all, mut next) = (Vec::new(), run.parent.clone());
    while let Some((id, _)) = next {
        let Some(run) = runs::one(tx, id)? else { break };
        let agent = agents::one(tx, &run.agent)?.map(|agent| agent.spec).unwrap_or_default();
        next = run.parent.clone();
        all.push(Above { run, agent });
    }
    Ok(all)
}

/// The budgets that a run shares with others. One that it has in common with a run above it is one.
pub(super) fn scopes<'a>(
    runs: impl Iterator<Item = (&'a Run, &'a AgentSpec)>,
    now: Timestamp,
) -> BTreeMap<String, Cap> {
    let mut scopes = BTreeMap::new();
    for (run, agent) in runs {
        scopes.extend(scopes_of((&run.agent, Some(run.session)), agent, now));
    }
    scopes
}

/// The budgets that an agent uses in a session.
pub(crate) fn scopes_of(
    (agent, session): (&AgentId, Option<SessionId>),
    AgentSpec { budgets, .. }: &AgentSpec,
    now: Timestamp,
) -> BTreeMap<String, Cap> {
    let day = now.as_unix_millis().div_euclid(86_400_000);
    let mut scopes = BTreeMap::from([(format!("agent:{agent}:day:{day}"), budgets.day)]);
    let session = session.map(|session| (format!("session:{session}"), budgets.session));
    let capped = [Some((format!("agent:{agent}"), budgets.agent)), session];
    scopes.extend(capped.into_iter().flatten().filter(|(_, cap)| cap.is_some()));
    scopes
}

/// What was set aside for a run, and was taken from there.
#[derive(Default)]
pub(super) struct Taken {
    reservations: Vec<Reservation>,
    /// What it came to.
    spent: Amount,
}

impl Taken {
    /// What nobody says was spent was not.
    pub(super) fn of(tx: &mut Tx<'_>, run: RunId, spent: Amount) -> Result<Self, StorageError> {
        Ok(Self { reservations: budgets::take(tx, run)?, spent })
    }

    /// Turns it into what was spent, of the runs above its own. Locks these, a child before its
    /// parent. `more` is set aside.
    fn charge_above(
        &self,
        tx: &mut Tx<'_>,
        run: &Run,
        more: Amount,
    ) -> Result<Vec<(RunId, Amount)>, StorageError> {
        let less = self.reservations.iter().map(|one| one.amount);
        let less = less.fold(Amount::default(), Amount::plus);
        let spent = if self.reservations.is_empty() { Amount::default() } else { self.spent };
        let (more, mut next) = (more.plus(spent), run.parent.as_ref().map(|(id, _)| *id));
        let mut charged = Vec::new();
        if (more, less) == Default::default() {
            return Ok(charged);
        }
        while let Some(id) = next {
            let Some((used, above)) = runs::charge(tx, id, more, less)? else { break };
            charged.push((id, used));
            next = above;
        }
        Ok(charged)
    }

    /// The same, before a model may be asked: nothing is set aside that could break a cap.
    pub(super) fn charge_runs(
        &self,
        tx: &mut Tx<'_>,
        (run, used): (&Run, Amount),
        reserve: Option<&Reserve>,
    ) -> Result<(), Undo> {
        let amount = reserve.map(|reserve| reserve.amount).unwrap_or_default();
        let charged = self.charge_above(tx, run, amount)?;
        let Some(reserve) = reserve else { return Ok(()) };
        let own = (run.id, reserve.cap, Some(used.plus(amount)));
        let used = |id: RunId| charged.iter().find(|(of, _)| *of == id).map(|(_, used)| *used);
        let above = reserve.above.iter().map(|(id, cap)| (*id, *cap, used(*id)));
        for (id, cap, used) in std::iter::once(own).chain(above) {
            if used.is_some_and(|used| !allows(&cap, used)) {
                return Err(Undo::Because(Committed::Spent(format!("run:{id}"))));
            }
        }
        Ok(())
    }

    /// Turns it into what was spent, of budgets.
    pub(super) fn settle(&self, tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StorageError> {
        for reservation in &self.reservations {
            for scope in &reservation.scopes {
                let account = budgets::lock(tx, scope, now)?;
                budgets::save(tx, scope, &account.settle(reservation.amount, self.spent), now)?;
            }
        }
        Ok(())
    }
}

/// Turns what is set aside for a run into what was spent.
pub(crate) fn settle(
    tx: &mut Tx<'_>,
    run: &Run,
    spent: Amount,
    now: Timestamp,
) -> Result<(), StorageError> {
    let taken = Taken::of(tx, run.id, spent)?;
    taken.charge_above(tx, run, Amount::default())?;
    taken.settle(tx, now)
}

/// Sets something aside of budgets, unless one of them is spent.
pub(super) fn reserve(
    tx: &mut Tx<'_>,
    run: RunId,
    reserve: &Reserve,
    now: Timestamp,
) -> Result<(), Undo> {
    for (scope, cap) in &reserve.scopes {
        let account = budgets::lock(tx, scope, now)?;
        let Some(reserved) = account.reserve(reserve.amount, cap) else {
            return Err(Undo::Because(Committed::Spent(scope.clone())));
        };
        budgets::save(tx, scope, &reserved, now)?;
    }
    let scopes = reserve.scopes.keys().cloned().collect();
    let reservation = Reservation { amount: reserve.amount, scopes };
    budgets::reserve(tx, run, (reserve.turn, reserve.attempt), &reservation)?;
    Ok(())
}
