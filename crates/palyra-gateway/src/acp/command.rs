use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::Scope;
use palyra_common::text::without_quotations;
use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_storage::{StorageError, Tx};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{Call, Refused};

type Params = Map<String, Value>;
type Asks = dyn Fn(Params, Call) -> BoxFuture<'static, Result<Value, Refused>> + Send + Sync;
type Change = dyn Fn(&mut Tx<'_>) -> Result<Value, Refused> + Send;
type Changes = dyn Fn(Params, Call) -> BoxFuture<'static, Result<Prepared, Refused>> + Send + Sync;

/// Something that can be done through the protocol: its name, the scope that it needs, what it takes, and
/// who carries it out.
#[derive(Clone)]
pub struct Command {
    name: &'static str,
    scope: Scope,
    takes_version: bool,
    pub(super) kind: Kind,
}

/// Whether a command changes something.
#[derive(Clone)]
pub(super) enum Kind {
    Asks(Arc<Asks>),
    Changes(Arc<Changes>),
}

/// A change that is about to be made.
pub(super) struct Prepared {
    /// What was asked for, in a form that is the same each time.
    pub(super) params: String,
    pub(super) work: Work,
}

impl Command {
    /// One that looks at something of `state` and changes nothing.
    pub fn asks<S, P, R, F>(
        name: &'static str,
        scope: Scope,
        state: &S,
        ask: impl Fn(S, P, Call) -> F + Send + Sync + 'static,
    ) -> Self
    where
        S: Clone + Send + Sync + 'static,
        P: DeserializeOwned,
        R: Serialize,
        F: Future<Output = Result<R, Refused>> + Send + 'static,
    {
        let state = state.clone();
        let asks = move |params, call| {
            let asked = read(params).map(|params| ask(state.clone(), params, call));
            async move { written(&asked?.await?) }.boxed()
        };
        Self { name, scope, takes_version: false, kind: Kind::Asks(Arc::new(asks)) }
    }

    /// One that changes something. What depends on how things are stands in the work that `prepare` gives:
    /// what comes a second time is prepared, and not carried out.
    pub fn changes<S, P, F>(
        name: &'static str,
        scope: Scope,
        state: &S,
        prepare: impl Fn(S, P, Call) -> F + Send + Sync + 'static,
    ) -> Self
    where
        S: Clone + Send + Sync + 'static,
        P: DeserializeOwned + Serialize,
        F: Future<Output = Result<Work, Refused>> + Send + 'static,
    {
        let state = state.clone();
        let changes = move |params, call| {
            let prepared = read::<P>(params).and_then(|params| {
                // By what it means: the order of its fields says nothing.
                let asked = written(&params)?.to_string();
                Ok((asked, prepare(state.clone(), params, call)))
            });
            async move {
                let (params, work) = prepared?;
                Ok(Prepared { params, work: work.await? })
            }
            .boxed()
        };
        Self { name, scope, takes_version: false, kind: Kind::Changes(Arc::new(changes)) }
    }

    /// The same for one that can be told which version it is to change.
    #[must_use]
    pub fn with_version(self) -> Self {
        Self { takes_version: true, ..self }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What its login has to allow.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Whether it changes something, and so takes an idempotency key.
    pub fn is_change(&self) -> bool {
        match self.kind {
            Kind::Asks(_) => false,
            Kind::Changes(_) => true,
        }
    }

    /// Whether it can be told which version it is to change.
    pub fn takes_version(&self) -> bool {
        self.takes_version
    }
}

/// A change, made in a transaction that may be run more than once. What it gives is kept for a day, so it
/// is no more than is needed, and no secret.
pub struct Work(Box<Change>);

impl Work {
    /// The change that this closure makes.
    pub fn new<R: Serialize>(
        work: impl Fn(&mut Tx<'_>) -> Result<R, Refused> + Send + 'static,
    ) -> Self {
        Self(Box::new(move |tx| written(&work(tx)?)))
    }

    pub(super) fn carry_out(&self, tx: &mut Tx<'_>) -> Result<Value, Refused> {
        (self.0)(tx)
    }
}

fn written(value: &impl Serialize) -> Result<Value, Refused> {
    serde_json::to_value(value)
        .map_err(|error| StorageError::internal(format!("a result has no form: {error}")).into())
}

/// Says which field is wrong, and not what it held, which may be a secret.
fn read<P: DeserializeOwned>(params: Params) -> Result<P, Refused> {
    serde_path_to_error::deserialize(Value::Object(params)).map_err(|error| {
        let path = match error.path().to_string() {
            path if path == "." => "params".to_owned(),
            path => format!("params.{path}"),
        };
        let what = without_quotations(&error.into_inner().to_string());
        StableErrorEnvelope::new(ErrorCode::CommonInvalidInput, format!("{path}: {what}"))
            .with_details(json!({ "path": path }))
            .into()
    })
}
