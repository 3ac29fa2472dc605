//! Echo passes the stories that every connector has to pass, as each of the platforms that it can
//! be: one that deduplicates, one that only tells what has arrived, and one that does neither.

use std::path::PathBuf;
use std::sync::Arc;

use palyra_common::ids::ConnectorId;
use palyra_common::time::Duration;
use palyra_connector_core::conformance::{Arrived, Platform, Story, Weather};
use palyra_connector_core::{
    AdapterRegistry, ChannelError, Inbound, InboundEvent, Operation, Waiting,
};
use palyra_connectors::BuiltIn;
use palyra_connectors::echo::{ConnectionFault, EchoSettings, Fault, Faults, KIND, Line, Typing};
use palyra_storage::{OpenOptions, SystemClock};
use palyra_testkit::postgres::{DatabaseLocale, PostgresServer};
use serde_json::Value;

/// What a platform does about messages that it has seen before.
#[derive(Debug, Clone, Copy)]
enum Memory {
    Deduplicates,
    Tells,
    Silent,
}

struct EchoPlatform {
    folder: PathBuf,
    memory: Memory,
}

impl EchoPlatform {
    fn ledger(connector: &ConnectorId) -> String {
        connector.as_str().replace(':', "-")
    }
}

impl Platform for EchoPlatform {
    fn adapters(&self) -> Arc<dyn AdapterRegistry> {
        Arc::new(BuiltIn::new(Arc::new(SystemClock), self.folder.clone()))
    }

    fn kind(&self) -> &str {
        KIND
    }

    fn turn(&self, connector: &ConnectorId, weather: Weather) -> Value {
        let (request, one_in) = match weather {
            Weather::Fine | Weather::Silent => (None, 1),
            Weather::Flaky => (Some(Fault::Transient), 3),
            Weather::RateLimited => (Some(Fault::RateLimit { after: Duration::from_millis(5) }), 1),
            Weather::DropsAnswers => (Some(Fault::DropAnswer), 1),
            Weather::Hangs => (Some(Fault::Hang), 1),
            Weather::DoesAndHangs => (Some(Fault::DoAndHang), 1),
            Weather::Refuses => (Some(Fault::Reject), 1),
            Weather::RefusesCredential => (Some(Fault::Unauthorized), 1),
        };
        let connection = (weather == Weather::Silent).then_some(ConnectionFault::Silent);
        let settings = EchoSettings {
            ledger: Some(Self::ledger(connector)),
            deduplicate: matches!(self.memory, Memory::Deduplicates),
            // Longer than a request may be on its way, or nothing would be sent a second time.
            remembers_for: Duration::from_hours(1),
            tells_history: matches!(self.memory, Memory::Tells),
            heartbeat: Duration::from_millis(200),
            faults: Faults { request, one_in, connection, ..Faults::default() },
        };
        serde_json::to_value(settings).unwrap()
    }

    fn arrived(&self, connector: &ConnectorId) -> Vec<Arrived> {
        let ledger = self.folder.join(Self::ledger(connector));
        let lines = std::fs::read_to_string(ledger).unwrap_or_default();
        let lines = lines.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let said = lines.filter_map(|line| match line.operation {
            Operation::Send { text, .. } => Some(Arrived {
                conversation: line.conversation.to_string(),
                text: text.as_str().to_owned(),
            }),
            _ => None,
        });
        said.collect()
    }

    fn typed(&self, connector: &ConnectorId) -> Vec<String> {
        let ledger = self.folder.join(Self::ledger(connector));
        let lines = std::fs::read_to_string(ledger).unwrap_or_default();
        let typed = lines.lines().filter_map(|line| serde_json::from_str::<Typing>(line).ok());
        typed.map(|typed| typed.typing.to_string()).collect()
    }

    fn says<'a>(
        &'a self,
        inbound: &'a Inbound,
        event: InboundEvent,
    ) -> Waiting<'a, Result<(), ChannelError>> {
        Box::pin(async move { inbound.accept(event).await.map(drop) })
    }
}

async fn tell(story: Story, memory: Memory, options: OpenOptions, folder: PathBuf) {
    let platform = Arc::new(EchoPlatform { folder, memory });
    if let Err(broken) = story.tell(options, platform).await {
        panic!("{} where echo is {memory:?}: {broken}", story.name());
    }
}

async fn on_sqlite(story: Story, memory: Memory) {
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions::in_directory(folder.path());
    tell(story, memory, options, folder.path().join("connectors")).await;
}

mod sqlite_deduplicates {
    palyra_connector_core::connector_conformance!(run);

    async fn run(story: super::Story) {
        super::on_sqlite(story, super::Memory::Deduplicates).await;
    }
}

mod sqlite_tells {
    palyra_connector_core::connector_conformance!(run);

    async fn run(story: super::Story) {
        super::on_sqlite(story, super::Memory::Tells).await;
    }
}

mod sqlite_silent {
    palyra_connector_core::connector_conformance!(run);

    async fn run(story: super::Story) {
        super::on_sqlite(story, super::Memory::Silent).await;
    }
}

mod postgres {
    palyra_connector_core::connector_conformance!(super::on_postgres);
}

async fn on_postgres(story: Story) {
    let server = PostgresServer::shared().unwrap();
    for memory in [Memory::Deduplicates, Memory::Tells, Memory::Silent] {
        let database = server.create_database(DatabaseLocale::C).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut options = OpenOptions::in_directory(folder.path());
        options.config.url = database.url().into();
        options.config.connections = 4;
        options.config.retry_for = Duration::from_mins(2);
        tell(story, memory, options, folder.path().join("connectors")).await;
    }
}
