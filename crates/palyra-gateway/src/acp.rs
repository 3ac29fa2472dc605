//! The Agent Control Protocol: one envelope for whatever people have the daemon do about conversations,
//! runs and questions.
//!
//! A command is a [`Command`] in the [`Commands`] of the daemon; other crates add theirs. What changes
//! something hands its change over as [`Work`], which is carried out in one transaction with its
//! idempotency key and the result that is kept for whoever sends it again.

mod approval;
mod call;
mod command;
mod dispatch;
mod refused;
mod run;
mod session;
mod surface;

use std::collections::BTreeMap;
use std::sync::Arc;

use palyra_common::time::Clock;
use palyra_storage::Database;

use crate::approvals::Approvals;
use crate::sessions::Sessions;

pub use call::Call;
pub use command::{Command, Work};
pub use refused::Refused;

/// The commands that there are. Cheap to clone.
#[derive(Clone)]
pub struct Commands {
    by_name: Arc<BTreeMap<&'static str, Command>>,
    db: Database,
    clock: Arc<dyn Clock>,
}

impl Commands {
    /// Those that are given, each of which has a name of its own.
    pub fn new(
        db: Database,
        clock: Arc<dyn Clock>,
        commands: impl IntoIterator<Item = Command>,
    ) -> Result<Self, String> {
        let mut by_name = BTreeMap::new();
        for command in commands {
            let name = command.name();
            if by_name.insert(name, command).is_some() {
                return Err(format!("there are two commands {name}"));
            }
        }
        Ok(Self { by_name: Arc::new(by_name), db, clock })
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.by_name.keys().copied()
    }
}

/// The commands about conversations, runs, surfaces and questions.
pub fn built_in(sessions: &Sessions, approvals: &Approvals) -> Vec<Command> {
    vec![
        session::new::command(),
        session::list::command(sessions),
        session::load::command(sessions),
        session::fork::command(),
        session::rename::command(),
        session::archive::command(),
        session::reset::command(),
        run::create::command(sessions),
        run::abort::command(),
        run::pause::command(),
        run::resume::command(),
        run::get::command(sessions),
        surface::action::command(sessions),
        approval::list::command(approvals),
        approval::get::command(approvals),
        approval::decide::command(),
    ]
}
