//! Calls of tools without an engine.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use palyra_common::queue::QueueSettings;
use palyra_common::time::Timestamp;
use palyra_connector_core::Connectors;
use palyra_connector_core::conformance::AsItIs;
use palyra_storage::blob::BlobStore;
use palyra_storage::{Database, OpenOptions, new_id};
use palyra_testkit::clock::FakeClock;
use serde_json::Value;

use super::{FetchMethod, Fetched, Fetcher, ToolOptions, built_in};
use crate::store::sessions::{Session, Shown};
use crate::tool::{Invocation, ToolDone, ToolFault, Toolbox, Weighed};

pub(super) const NOW: Timestamp = Timestamp::from_unix_millis(1_700_000_000_000);

/// A call by the agent `ann` in a conversation that is in no channel.
pub(super) fn call(arguments: Value) -> Invocation {
    let session = new_id();
    let place = Session {
        id: session,
        key: session.to_string(),
        agent: "ann".parse().unwrap(),
        surface: "test".into(),
        title: String::new(),
        reply_to: None,
        next_run: 2,
        next_history: 1,
        holder: None,
        archived_at: None,
        created_at: NOW,
        changed_at: NOW,
        version: 1,
        shown: Shown::default(),
        fork: None,
    };
    Invocation {
        run: new_id(),
        call: "t1c0".into(),
        session,
        agent: place.agent.clone(),
        place,
        depth: 0,
        arguments,
        bindings: Vec::new(),
    }
}

/// What a call weighs, if its arguments are what the tool takes.
pub(super) async fn weigh(
    tools: &Toolbox,
    name: &str,
    call: &Invocation,
) -> Result<Weighed, ToolFault> {
    tools.check(name, &call.arguments)?;
    tools.get(name).unwrap().weigh(call).await
}

/// Makes a call as an engine would.
pub(super) async fn make(
    tools: &Toolbox,
    name: &str,
    call: Invocation,
) -> Result<ToolDone, ToolFault> {
    let bindings = weigh(tools, name, &call).await?.bindings;
    let call = Invocation { bindings, ..call };
    tools.get(name).unwrap().run(&call).await
}

/// All built-in tools on a database of their own, with a web that answers as told.
pub(super) struct World {
    pub(super) folder: tempfile::TempDir,
    pub(super) db: Database,
    pub(super) blobs: BlobStore,
    pub(super) clock: Arc<FakeClock>,
    pub(super) web: Arc<Web>,
    pub(super) tools: Toolbox,
}

/// What is fetched, and what was asked for.
#[derive(Default)]
pub(super) struct Web {
    pub(super) answer: Mutex<Option<Result<Fetched, String>>>,
    pub(super) asked: Mutex<Vec<(FetchMethod, String)>>,
}

impl Fetcher for Web {
    fn fetch<'a>(
        &'a self,
        method: FetchMethod,
        url: &'a str,
        max_bytes: usize,
    ) -> BoxFuture<'a, Result<Fetched, String>> {
        self.asked.lock().unwrap().push((method, url.to_owned()));
        let none = Err("there is no such host".to_owned());
        let mut answer = self.answer.lock().unwrap().clone().unwrap_or(none);
        if let Ok(fetched) = &mut answer {
            fetched.truncated |= fetched.body.len() > max_bytes;
            fetched.body.truncate(max_bytes);
        }
        Box::pin(std::future::ready(answer))
    }
}

impl World {
    pub(super) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap();
        let (clock, web) = (Arc::new(FakeClock::new(NOW)), Arc::new(Web::default()));
        let blobs = BlobStore::in_folder(db.clone(), clock.clone(), &folder.path().join("blobs"));
        let options = ToolOptions {
            db: db.clone(),
            blobs: blobs.unwrap(),
            clock: clock.clone(),
            outgoing: Arc::new(AsItIs),
            fetcher: web.clone(),
            workspaces: folder.path().join("workspaces"),
        };
        let tools = Toolbox::new(built_in(&options)).unwrap();
        tools.verify().unwrap();
        Self { folder, db, blobs: options.blobs, clock, web, tools }
    }

    /// With a channel.
    pub(super) async fn with_channel() -> Self {
        let world = Self::new().await;
        let (id, queue) = ("echo:main".parse().unwrap(), QueueSettings::default());
        let connectors = Connectors::new(world.db.clone(), world.clock.clone());
        connectors.add(id, "echo", serde_json::json!({}), queue, None).await.unwrap();
        world
    }

    pub(super) async fn make(&self, name: &str, call: Invocation) -> Result<ToolDone, ToolFault> {
        make(&self.tools, name, call).await
    }

    pub(super) async fn weigh(&self, name: &str, call: &Invocation) -> Result<Weighed, ToolFault> {
        weigh(&self.tools, name, call).await
    }

    /// A call that comes to nothing, for a reason with this in it.
    pub(super) async fn refused(&self, name: &str, call: Invocation, expected: &str) {
        let told = self.make(name, call).await.unwrap_err().to_string();
        assert!(told.contains(expected), "{name}: {told}");
    }
}

/// The same call in the conversation `dm-ann` of the channel.
pub(super) fn in_channel(mut call: Invocation) -> Invocation {
    call.place.reply_to = Some(("echo:main".parse().unwrap(), "dm-ann".parse().unwrap()));
    call
}
