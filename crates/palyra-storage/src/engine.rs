//! The two engines. Nothing outside this folder knows which one is in use, but for the few
//! places that `ARCHITECTURE.md` names.

pub(crate) mod export;
pub(crate) mod load;
pub(crate) mod postgres;
pub(crate) mod queue;
pub(crate) mod sqlite;

/// Which engine holds the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// One file on this machine.
    Sqlite,
    /// A server that several nodes share.
    Postgres,
}

impl EngineKind {
    /// The name, for logs and status.
    pub const fn as_str(self) -> &'static str {
        match self {
            EngineKind::Sqlite => "sqlite",
            EngineKind::Postgres => "postgres",
        }
    }
}
