//! The way of a command.

use palyra_common::ErrorCode;
use palyra_common::api::{AcpCommandEnvelope, AcpCommandResultEnvelope};
use palyra_common::ids::Principal;
use palyra_common::time::Timestamp;
use palyra_identity::Access;
use palyra_storage::once::{Claim, Key, Once, TAKEN};
use palyra_storage::{StorageError, Tx};
use serde_json::{Value, json};

use super::command::{Kind, Prepared};
use super::{Call, Command, Commands, Refused};
use crate::actor::Actor;

/// A key counts for a principal, whatever it is used for.
const OPERATION: &str = "acp";

/// What came of a command.
struct Done {
    result: Value,
    replayed: bool,
}

impl Commands {
    /// Carries out a command of whoever has `access`, and came from `origin`. What they may do follows from
    /// that alone.
    pub async fn dispatch_acp_command(
        &self,
        access: &Access,
        origin: &str,
        envelope: AcpCommandEnvelope,
    ) -> AcpCommandResultEnvelope {
        let (request_id, command) = (envelope.request_id.clone(), envelope.command.clone());
        match self.carry_out(access, origin, envelope).await {
            Ok(Done { result, replayed }) => {
                AcpCommandResultEnvelope::done(request_id, command, result, replayed)
            }
            Err(refused) => {
                AcpCommandResultEnvelope::refused(request_id, command, refused.into_envelope())
            }
        }
    }

    async fn carry_out(
        &self,
        access: &Access,
        origin: &str,
        envelope: AcpCommandEnvelope,
    ) -> Result<Done, Refused> {
        envelope.check()?;
        let AcpCommandEnvelope { command, params, idempotency_key, expected_version, .. } =
            envelope;
        let command = self.find(&command)?;
        access.require(command.scope())?;
        if expected_version.is_some() && !command.takes_version() {
            let what = format!("{} takes no expected_version: leave it away", command.name());
            return Err(Refused::new(ErrorCode::CommonInvalidInput, what));
        }
        let call = Call { actor: actor(access, origin), now: self.clock.now(), expected_version };
        match &command.kind {
            Kind::Asks(ask) => Ok(Done { result: ask(params, call).await?, replayed: false }),
            Kind::Changes(prepare) => {
                let key = key_of(command, idempotency_key)?;
                let (by, now) = (access.principal.clone(), call.now);
                let Prepared { params, work } = prepare(params, call).await?;
                let request = format!("{}\n{params}", command.name());
                let once = Once::new(OPERATION, key, request.as_bytes());
                let change =
                    move |tx: &mut Tx<'_>| first(tx, (&by, &once, now), |tx| work.carry_out(tx));
                self.db.try_write(change).await
            }
        }
    }

    fn find(&self, name: &str) -> Result<&Command, Refused> {
        self.by_name.get(name).ok_or_else(|| {
            let names: Vec<_> = self.names().collect();
            let what = format!("there is no command {name}; there are: {}", names.join(", "));
            let error = palyra_common::StableErrorEnvelope::new(ErrorCode::CommonNotFound, what);
            error.with_details(json!({ "commands": names })).into()
        })
    }
}

fn actor(access: &Access, origin: &str) -> Actor {
    let Access { principal, credential, .. } = access;
    Actor { by: principal.clone(), credential: *credential, origin: origin.to_owned() }
}

fn key_of(command: &Command, key: Option<String>) -> Result<Key, Refused> {
    key.as_deref().and_then(Key::parse).ok_or_else(|| {
        let what = format!(
            "{} changes something, so it takes an idempotency_key: send one that no other command of \
             yours has, and the same one again where no answer came",
            command.name()
        );
        Refused::new(ErrorCode::CommonInvalidInput, what)
    })
}

/// Makes a change if this is the first time that it is asked for. Where it is refused nothing is kept, and
/// the key is free.
fn first(
    tx: &mut Tx<'_>,
    (by, once, now): (&Principal, &Once, Timestamp),
    change: impl FnOnce(&mut Tx<'_>) -> Result<Value, Refused>,
) -> Result<Done, Refused> {
    match once.claim(tx, by, "", now)? {
        Claim::First => {
            let result = change(tx)?;
            once.note(tx, by, &result.to_string())?;
            Ok(Done { result, replayed: false })
        }
        Claim::Again { made } => {
            let result = serde_json::from_str(&made).map_err(|error| {
                let what = format!("the result of a command cannot be read: {error}");
                Refused::from(StorageError::InvalidValue { what })
            })?;
            Ok(Done { result, replayed: true })
        }
        Claim::Taken => Err(Refused::new(ErrorCode::CommonConflict, TAKEN)),
    }
}
