//! What an adapter is given.

use std::sync::Arc;

use palyra_common::time::Duration;

use crate::ChannelError;
use crate::connection::{Connected, Connection};
use crate::inbound::{Accepted, Inbound, InboundEvent};
use crate::resume::{Progress, ResumeState};
use crate::store::connectors::Connector;

/// A message on its way to being kept.
pub trait Accepting: Future<Output = Result<Accepted, ChannelError>> + Send + 'static {}

impl<F: Future<Output = Result<Accepted, ChannelError>> + Send + 'static> Accepting for F {}

/// What an adapter is given. Cheap to clone.
///
/// Whether a connector does well is judged by what its adapter reports here, and not by whether it
/// runs: a connection whose heartbeats are not answered any more is told as one.
#[derive(Clone)]
pub struct AdapterContext {
    pub(crate) connector: Arc<Connector>,
    pub(crate) inbound: Inbound,
    pub(crate) connection: Arc<Connection>,
    pub(crate) progress: Arc<Progress>,
}

impl AdapterContext {
    /// The connector as it was when the adapter was started.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    /// There is a connection, on which the platform answers a heartbeat so often; nothing: there are
    /// none. Nothing that was handed over before, and is not kept, keeps a state from being saved
    /// that belongs to this connection.
    pub fn connected(&self, how: Connected, acks_every: Option<Duration>) {
        self.connection.connected(how, acks_every);
        self.progress.begin_anew();
    }

    /// There is none any more.
    pub fn disconnected(&self) {
        self.connection.disconnected();
    }

    /// The platform has sent something, whatever it is.
    pub fn heard(&self) {
        self.connection.heard();
    }

    /// The platform has answered a heartbeat, after so long.
    pub fn acked(&self, latency: Duration) {
        self.connection.acked(latency);
    }

    /// Hands a message over. When this returns, it is kept. If it fails, nothing that comes after it
    /// is saved as handled: hand it over again on a connection that begins where
    /// [`saved_resume`](Self::saved_resume) says.
    pub fn accept(&self, event: InboundEvent) -> impl Accepting {
        self.hand_over(event, None)
    }

    /// The same with a message after which the connection can be taken up again by `state`, which is
    /// saved in the same transaction: unless one that was handed over before is not kept yet, for
    /// then it would be lost. Messages may be handed over at once; their order is that of the calls.
    pub fn accept_at(&self, event: InboundEvent, state: ResumeState) -> impl Accepting {
        self.hand_over(event, Some(state))
    }

    /// Its place is that of the call, whenever it is waited for.
    fn hand_over(&self, event: InboundEvent, state: Option<ResumeState>) -> impl Accepting {
        self.connection.heard();
        let (inbound, progress) = (self.inbound.clone(), self.progress.clone());
        let step = progress.begin(state);
        async move {
            let accepted = inbound.accept_with(event, progress.save_with(&step)).await?;
            progress.kept(step);
            Ok(accepted)
        }
    }

    /// By which state the connection can be taken up again, wherever it was lost: everything before
    /// it is kept. Saved by whoever ran the connector last, also with other settings.
    pub async fn saved_resume(&self) -> Result<Option<ResumeState>, ChannelError> {
        self.inbound.saved_resume(&self.connector.id).await
    }

    /// Saves by which state the connection can be taken up again, after something that is no message.
    /// It is saved with the next one if a message that was handed over before is not kept yet.
    pub async fn save_resume(&self, state: ResumeState) -> Result<(), ChannelError> {
        let step = self.progress.begin(Some(state));
        let save = self.progress.save_with(&step);
        self.progress.kept(step);
        match save {
            Some(save) => self.inbound.save_resume(&self.connector.id, save).await,
            None => Ok(()),
        }
    }
}
