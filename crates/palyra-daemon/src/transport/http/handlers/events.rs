use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use palyra_common::api::FeedEvent;
use palyra_common::runtime_contracts::Scope;
use palyra_common::time::Clock;
use palyra_identity::Access;
use palyra_storage::events::{self, Event};
use palyra_storage::{Database, StorageError, Subscription};
use tokio::sync::watch;

use super::runs::FollowFrom;
use crate::app::App;
use crate::transport::http::body::QueryOf;
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::Answer;
use crate::transport::http::sse::{self, Ending, LastEvent, Reader};

/// Events that are read at once.
const PAGE: u32 = 200;
/// Told to a reader who was away for so long that something is not kept any more.
const PRUNED: &str = "feed.pruned";

/// What somebody may want to look at, as server-sent events, from some event or from now on
///
/// Each has its number as its id and its kind as its event, as far as the credential may read them:
/// `approval.…`, `connector.…`, `outbox.…`, `router.…`, and `run.failed`, `run.aborted` or `run.expired` of a
/// run that did not end well; every run has a stream of its own. From now on, it begins with an id alone. After
/// `feed.pruned` some are not there any more: look at what there is.
#[utoipa::path(get, path = "/console/v1/events", tag = "console", params(FollowFrom, LastEvent),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
pub(crate) async fn follow_events(
    State(app): State<App>,
    caller: Caller,
    QueryOf(from): QueryOf<FollowFrom>,
    last: LastEvent,
    Extension(ending): Extension<Ending>,
) -> Answer<Response> {
    let scope = Scope::StatusRead;
    let caller = caller.allow(scope)?;
    let asked = last.seq.or(from.after.map(i64::from));
    let seen = match asked {
        Some(seq) => seq,
        None => events::newest(&app.db).await?,
    };
    let (db, told, clock) = (app.db.clone(), app.db.subscribe(events::TOPIC), app.clock.clone());
    let newest = app.readers.newest();
    // Whoever loses the connection before anything has happened comes back from here.
    let place = asked.is_none().then(|| format!("id: {seen}\n\n"));
    let source = Feed { db, told, newest, clock, access: caller.access.clone(), seen, place };
    sse::answer(source, Reader { app, access: caller.access, scope, ending })
}

struct Feed {
    db: Database,
    told: Subscription,
    /// Changes where something came and nobody was told.
    newest: watch::Receiver<i64>,
    clock: Arc<dyn Clock>,
    access: Access,
    seen: i64,
    /// Where it begins, if nobody has said so.
    place: Option<String>,
}

impl Feed {
    /// What there is behind what was seen; nothing if there is nothing to be shown.
    async fn read(&mut self) -> Result<Option<String>, StorageError> {
        let page = events::page_after(&self.db, self.seen, PAGE).await?;
        let mut text = String::new();
        if self.seen < page.pruned_through {
            self.seen = page.pruned_through;
            let gap = FeedEvent {
                seq: page.pruned_through,
                at: self.clock.now(),
                kind: PRUNED.to_owned(),
                subject: "feed".to_owned(),
                body: serde_json::json!({}),
            };
            text.push_str(&sse::event(gap.seq, PRUNED, &gap));
        }
        for event in page.events {
            self.seen = self.seen.max(event.seq);
            if self.may_see(&event) {
                let Event { seq, at, kind, subject, body } = event;
                let event = FeedEvent { seq, at, kind, subject, body };
                text.push_str(&sse::event(seq, &event.kind, &event));
            }
        }
        Ok((!text.is_empty()).then_some(text))
    }

    fn may_see(&self, event: &Event) -> bool {
        let scope = match event.kind.split('.').next() {
            Some("approval") => Scope::ApprovalsRead,
            Some("run") => Scope::SessionsRead,
            _ => Scope::ChannelsRead,
        };
        self.access.require(scope).is_ok()
    }
}

impl sse::Source for Feed {
    fn next(&mut self) -> BoxFuture<'_, Option<String>> {
        async {
            if let Some(place) = self.place.take() {
                return Some(place);
            }
            loop {
                let before = self.seen;
                match self.read().await {
                    Ok(Some(text)) => return Some(text),
                    // There may be more that this reader can see.
                    Ok(None) if self.seen > before => continue,
                    Ok(None) => {}
                    Err(error) => {
                        // The reader comes back, and is told then.
                        tracing::warn!(%error, "the event feed could not be read");
                        return None;
                    }
                }
                tokio::select! {
                    () = self.told.changed() => {}
                    Ok(()) = self.newest.changed() => {}
                }
            }
        }
        .boxed()
    }
}
