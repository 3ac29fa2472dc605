//! A platform in memory, with an adapter for it: it remembers what reached it, and fails as it is
//! told.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use palyra_common::ids::{ConversationId, NativeMessageId};
use palyra_common::runtime_contracts::RetryClass;
use palyra_connector_core::{
    AdapterContext, AdapterRegistry, Admission, Capabilities, Connected, Connector,
    ConnectorAdapter, End, Found, OnPlatform, Operation, Permit, Reading, Reason, Report, Stored,
    Waiting,
};
use palyra_policy::outbox::{Reconciled, Repeat};
use tokio::sync::watch;

use crate::world::CANARY;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Refused before anything is done.
    Refuse,
    /// Refused for good.
    Reject,
    /// Refused for good in the conversation `poison`, with that word, and done in others.
    Poison,
    /// Done, but the answer is lost.
    LoseAnswer,
    /// Never answered.
    Hang,
    Panic,
    /// The adapter fails before it has asked anything.
    PanicAtOnce,
    /// The same when it is asked for its leave.
    PanicAtAdmission,
    /// The connection is lost at once, with a word that is not to be kept; requests would be done.
    LoseConnection,
    /// The adapter ends at once, and says that it was asked to.
    Leave,
    /// Refused for good, with that word.
    RejectWithCanary,
    Unauthorized,
    /// Refused once something else is to happen.
    UnauthorizedLate,
    /// Heartbeats are not answered; requests are.
    Silent,
    /// Done, and given the name of another message.
    SameName,
    /// What [`Platform::roll`] says: mostly none of the above.
    Random,
}

/// The other side, shared by all adapters of all connectors.
#[derive(Default)]
pub(crate) struct Platform {
    /// What arrived, by conversation, in order.
    pub(crate) arrived: Mutex<BTreeMap<String, Vec<String>>>,
    /// How often something arrived that was there already, and was thrown away.
    pub(crate) repeats: AtomicU64,
    faults: watch::Sender<HashMap<String, Fault>>,
    seed: AtomicU64,
    /// How often an adapter was started, by connector.
    pub(crate) starts: Mutex<HashMap<String, u64>>,
    /// How many adapters are connected.
    pub(crate) connected: AtomicU64,
    /// What they were given, by connector.
    pub(crate) contexts: Mutex<HashMap<String, AdapterContext>>,
}

impl Platform {
    pub(crate) fn set(&self, connector: &str, fault: Fault) {
        self.faults.send_modify(|faults| {
            faults.insert(connector.to_owned(), fault);
        });
    }

    fn fault(&self, connector: &str) -> Fault {
        let fault = self.faults.borrow().get(connector).copied().unwrap_or(Fault::None);
        if fault == Fault::Random { self.roll() } else { fault }
    }

    /// One in four goes wrong.
    fn roll(&self) -> Fault {
        let n = self.seed.fetch_add(1, Ordering::SeqCst).wrapping_mul(6_364_136_223_846_793_005);
        match (n >> 33) % 8 {
            0 => Fault::Refuse,
            1 => Fault::LoseAnswer,
            _ => Fault::None,
        }
    }

    /// Keeps a message once, by its name.
    fn keep(&self, stored: &Stored) {
        let Operation::Send { .. } = &stored.operation else { return };
        let mut arrived = self.arrived.lock().unwrap();
        let said = arrived.entry(stored.conversation.to_string()).or_default();
        let name = crate::world::name(stored);
        match said.contains(&name) {
            false => said.push(name),
            true => drop(self.repeats.fetch_add(1, Ordering::SeqCst)),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.arrived.lock().unwrap().values().map(Vec::len).sum()
    }

    fn has(&self, stored: &Stored) -> bool {
        let arrived = self.arrived.lock().unwrap();
        let said = arrived.get(stored.conversation.as_str());
        said.is_some_and(|said| said.contains(&crate::world::name(stored)))
    }
}

/// Makes adapters for [`Platform`].
pub(crate) struct Adapters(pub(crate) Arc<Platform>, pub(crate) Repeat);

impl AdapterRegistry for Adapters {
    fn check(&self, kind: &str, _: &serde_json::Value) -> Result<(), String> {
        match kind {
            "memory" | "echo" => Ok(()),
            _ => Err(format!("there is no connector of kind {kind}")),
        }
    }

    fn build(&self, connector: &Connector) -> Result<Arc<dyn ConnectorAdapter>, String> {
        self.check(&connector.kind, &connector.settings)?;
        let id = connector.id.to_string();
        Ok(Arc::new(Memory { id, platform: self.0.clone(), repeat: self.1 }))
    }
}

struct Memory {
    id: String,
    platform: Arc<Platform>,
    repeat: Repeat,
}

/// A reason with a word that is not to be kept, the second time across the end of what is.
fn with_canary() -> Reason {
    format!("xxx {CANARY} {}{CANARY}", "y".repeat(970)).into()
}

/// How often the platform answers heartbeats of `memory:beats`, and of nobody else.
const BEAT: Duration = Duration::from_millis(20);

impl Memory {
    async fn beat(&self, context: &AdapterContext) {
        loop {
            tokio::time::sleep(BEAT).await;
            if self.platform.fault(&self.id) != Fault::Silent {
                context.acked(palyra_common::time::Duration::from_millis(1));
            }
        }
    }
}

impl ConnectorAdapter for Memory {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            edit: false,
            delete: false,
            react: false,
            threads: false,
            history: true,
            search: false,
            typing: true,
            max_text: 2_000,
            repeat: self.repeat,
        }
    }

    fn run(
        &self,
        context: AdapterContext,
        mut shutdown: watch::Receiver<bool>,
    ) -> Waiting<'_, End> {
        Box::pin(async move {
            *self.platform.starts.lock().unwrap().entry(self.id.clone()).or_default() += 1;
            if self.platform.fault(&self.id) == Fault::Panic {
                panic!("on purpose");
            }
            if self.platform.fault(&self.id) == Fault::LoseConnection {
                return End::Lost(with_canary());
            }
            if self.platform.fault(&self.id) == Fault::Leave {
                return End::AsAsked;
            }
            self.platform.connected.fetch_add(1, Ordering::SeqCst);
            let beats = (self.id == "memory:beats").then(|| BEAT.into());
            context.connected(Connected::Anew, beats);
            self.platform.contexts.lock().unwrap().insert(self.id.clone(), context.clone());
            tokio::select! {
                _ = shutdown.wait_for(|stop| *stop) => {}
                () = self.beat(&context) => {}
            }
            context.disconnected();
            self.platform.contexts.lock().unwrap().remove(&self.id);
            self.platform.connected.fetch_sub(1, Ordering::SeqCst);
            End::AsAsked
        })
    }

    fn admit<'a>(&'a self, _: &'a Stored) -> Waiting<'a, Admission> {
        if self.platform.fault(&self.id) == Fault::PanicAtAdmission {
            panic!("on purpose");
        }
        Box::pin(async { Admission::Ready(Permit::default()) })
    }

    fn send<'a>(&'a self, stored: &'a Stored, _: Permit) -> Waiting<'a, Report> {
        if self.platform.fault(&self.id) == Fault::PanicAtOnce {
            panic!("on purpose");
        }
        Box::pin(async move {
            match self.platform.fault(&self.id) {
                Fault::None
                | Fault::Random
                | Fault::Silent
                | Fault::LoseConnection
                | Fault::Leave => {
                    self.platform.keep(stored);
                    let native = format!("n-{}", stored.key.envelope);
                    Report::Delivered { native: native.parse::<NativeMessageId>().ok() }
                }
                Fault::SameName => {
                    self.platform.keep(stored);
                    Report::Delivered { native: "same".parse().ok() }
                }
                Fault::Refuse => {
                    let class = RetryClass::TransientNetwork;
                    Report::Retry { class, after: None, reason: "refused".into() }
                }
                Fault::Poison if stored.conversation.as_str() == "poison" => {
                    Report::Rejected { reason: "poison".into() }
                }
                Fault::Poison => {
                    self.platform.keep(stored);
                    Report::Delivered { native: None }
                }
                Fault::Reject => Report::Rejected { reason: "no such channel".into() },
                Fault::RejectWithCanary => Report::Rejected { reason: with_canary() },
                Fault::LoseAnswer => {
                    self.platform.keep(stored);
                    Report::Unknown { reason: "no answer".into() }
                }
                Fault::Hang => std::future::pending().await,
                Fault::Panic | Fault::PanicAtOnce | Fault::PanicAtAdmission => panic!("on purpose"),
                Fault::Unauthorized => Report::AuthFailed { reason: "401".into() },
                Fault::UnauthorizedLate => {
                    let mut faults = self.platform.faults.subscribe();
                    let is_over = |faults: &HashMap<String, Fault>| {
                        faults.get(&self.id) != Some(&Fault::UnauthorizedLate)
                    };
                    let _ = faults.wait_for(is_over).await;
                    Report::AuthFailed { reason: "401".into() }
                }
            }
        })
    }

    fn reconcile<'a>(&'a self, stored: &'a Stored) -> Waiting<'a, Found> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let outcome = match self.platform.has(stored) {
                true => Reconciled::Delivered,
                false => Reconciled::NotDelivered,
            };
            Found { outcome, native: None }
        })
    }

    fn read<'a>(&'a self, _: &'a Reading) -> Waiting<'a, Result<Vec<OnPlatform>, Reason>> {
        Box::pin(async { panic!("on purpose") })
    }

    fn typing<'a>(&'a self, _: &'a ConversationId) -> Waiting<'a, Result<(), Reason>> {
        let reason = match self.platform.fault(&self.id) {
            Fault::RejectWithCanary => with_canary(),
            _ => "no such channel".into(),
        };
        Box::pin(async { Err(reason) })
    }
}
