//! The answer of a run, as a whole or as it comes.

use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use palyra_common::ErrorCode;
use palyra_common::StableErrorEnvelope;
use palyra_common::api::{
    ChatAnswer, ChatCall, ChatCallPiece, ChatChoice, ChatChunk, ChatCompletion, ChatDelta,
    ChatFinish, ChatPiece, ChatRole, ChatUsage,
};
use palyra_common::handoff::{CrossSurfaceHandoff, to_handoff_url};
use palyra_common::ids::ApprovalId;
use palyra_common::runtime_contracts::{HandoffIntent, HandoffSection, Scope, TelemetrySurface};
use palyra_gateway::Follow;
use palyra_identity::Access;
use serde::Serialize;
use serde_json::json;

use super::attached::Attached;
use super::telling::{Comes, News, Telling};
use crate::transport::http::openai;
use crate::transport::http::refusal::{Answer, Refusal};
use crate::transport::http::sse::{self, Ending, Reader};

/// What these clients wait for at the end.
const DONE: &str = "data: [DONE]\n\n";

/// What is told of a run as it happens.
struct Told {
    attached: Attached,
    follow: Follow,
    telling: Telling,
    /// Whether it is to be found out whether a human is waited for.
    may_wait: bool,
}

impl Told {
    fn new(attached: Attached, comes: Comes) -> Self {
        let (follow, telling) = (attached.follow(), Telling::new(attached.run(), comes));
        Self { attached, follow, telling, may_wait: false }
    }

    /// What is new; something, unless the tape is at its end. Cancel safe.
    async fn news(&mut self) -> Answer<Vec<News>> {
        loop {
            if self.may_wait {
                let waits = self.attached.waits().await?;
                self.may_wait = false;
                if waits {
                    let failed = self.approval_needed();
                    self.attached.is_told();
                    return Ok(vec![News::Failed(failed)]);
                }
            }
            let entries = self.follow.next().await?;
            if entries.is_empty() {
                return Ok(Vec::new());
            }
            let mut news: Vec<News> = Vec::new();
            for entry in &entries {
                news.extend(self.telling.read(&entry.event));
            }
            self.may_wait = news.contains(&News::MayWait);
            news.retain(|news| *news != News::MayWait);
            let is_over = |news: &News| match news {
                News::Over(..) | News::Failed(_) => true,
                News::Words(_) | News::MayWait => false,
            };
            if let Some(end) = news.iter().position(is_over) {
                news.truncate(end + 1);
                self.has_ended(&news);
            }
            if !news.is_empty() {
                return Ok(news);
            }
        }
    }

    /// A run whose answer cannot be told goes on without its client only if that comes back.
    fn has_ended(&mut self, news: &[News]) {
        let goes_on = |news: &News| match news {
            News::Failed(failed) => failed.known_code() == Some(ErrorCode::ChatStartedOver),
            News::Over(..) | News::Words(_) | News::MayWait => false,
        };
        if !news.iter().any(goes_on) {
            self.attached.is_told();
        }
    }

    fn approval_needed(&self) -> StableErrorEnvelope {
        let (app, run) = (self.attached.app(), self.attached.run());
        let (approval, summary) = self.telling.question().unzip();
        let link = approval.map(|approval| {
            let origin = crate::hosts::origin(app.place.http, &app.config().http.public_url);
            format!("{origin}{}", to_handoff_url(&handoff(approval, run)))
        });
        let what = match (approval, summary, &link) {
            (Some(approval), Some(summary), Some(link)) => {
                // The rest of it, such as what a file would be, is shown where it is decided.
                let summary = summary.lines().next().unwrap_or_default();
                format!(
                    "the agent asks before it goes on: {summary}. The run {run} waits for `palyra \
                     approvals approve {approval}` or {link}"
                )
            }
            _ => format!("the run {run} waits for a human; `palyra approvals list` tells for what"),
        };
        let details = json!({ "run": run, "approval": approval, "link": link });
        StableErrorEnvelope::new(ErrorCode::ChatApprovalNeeded, what).with_details(details)
    }
}

fn handoff(approval: ApprovalId, run: palyra_common::ids::RunId) -> CrossSurfaceHandoff {
    CrossSurfaceHandoff {
        run_id: Some(run),
        approval_id: Some(approval),
        intent: Some(HandoffIntent::Approve),
        ..CrossSurfaceHandoff::to_section(HandoffSection::Approvals, TelemetrySurface::Web)
    }
}

/// Waits for the whole answer.
pub(super) async fn whole(attached: Attached) -> Answer<ChatCompletion> {
    let (head, mut told) = (Head::of(&attached), Told::new(attached, Comes::AsAWhole));
    let mut words = String::new();
    loop {
        let news = told.news().await?;
        if news.is_empty() {
            return Err(gone().into());
        }
        for news in news {
            match news {
                News::Words(more) => words.push_str(&more),
                News::MayWait => {}
                News::Failed(envelope) => return Err(envelope.into()),
                News::Over(finish, calls) => {
                    let usage = told.telling.usage();
                    return Ok(head.completion(words, calls, finish, usage));
                }
            }
        }
    }
}

/// A tape without an end, of which nothing comes any more: its run is not kept any more.
fn gone() -> StableErrorEnvelope {
    StableErrorEnvelope::new(ErrorCode::CommonNotFound, "the run that was to answer is gone")
}

/// What each answer and each piece of it begins with.
struct Head {
    id: String,
    created: i64,
    model: String,
}

impl Head {
    fn of(attached: &Attached) -> Self {
        let run = attached.run();
        Self {
            id: format!("chatcmpl-{run}"),
            created: run.created_at().as_unix_millis() / 1_000,
            model: attached.model().to_owned(),
        }
    }

    fn completion(
        self,
        words: String,
        tool_calls: Vec<ChatCall>,
        finish_reason: ChatFinish,
        usage: ChatUsage,
    ) -> ChatCompletion {
        let content = Some(words).filter(|words| !words.is_empty() || tool_calls.is_empty());
        let role = ChatRole::Assistant;
        let message = ChatAnswer { role, content, refusal: None, tool_calls };
        let choice = ChatChoice { index: 0, message, finish_reason, logprobs: None };
        let object = "chat.completion".to_owned();
        let Self { id, created, model } = self;
        ChatCompletion { id, object, created, model, choices: vec![choice], usage }
    }

    fn chunk(&self, choices: Vec<ChatPiece>, usage: Option<ChatUsage>) -> String {
        data(&ChatChunk {
            id: self.id.clone(),
            object: "chat.completion.chunk".to_owned(),
            created: self.created,
            model: self.model.clone(),
            choices,
            usage,
        })
    }

    fn piece(&self, delta: ChatDelta, finish_reason: Option<ChatFinish>) -> String {
        self.chunk(vec![ChatPiece { index: 0, delta, finish_reason }], None)
    }
}

fn data(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    format!("data: {json}\n\n")
}

/// Tells the answer as it comes.
pub(super) fn answer(
    attached: Attached,
    tells_usage: bool,
    (access, ending): (Access, Ending),
) -> Answer<Response> {
    let (app, head) = (attached.app().clone(), Head::of(&attached));
    let told = Told::new(attached, Comes::InPieces);
    let source = Pieces { head, told, tells_usage, at: At::Beginning };
    sse::answer(source, Reader { app, access, scope: Scope::ChatUse, ending })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Beginning,
    Going,
    Over,
}

struct Pieces {
    head: Head,
    told: Told,
    tells_usage: bool,
    at: At,
}

impl Pieces {
    async fn more(&mut self) -> Option<String> {
        match self.at {
            At::Over => return None,
            At::Beginning => {
                self.at = At::Going;
                let (role, content) = (Some(ChatRole::Assistant), Some(String::new()));
                return Some(self.head.piece(ChatDelta { role, content, ..no_more() }, None));
            }
            At::Going => {}
        }
        let news = match self.told.news().await {
            Ok(news) if news.is_empty() => return Some(self.ends_with(gone().into())),
            Ok(news) => news,
            Err(refusal) => return Some(self.ends_with(refusal)),
        };
        Some(news.into_iter().map(|news| self.written(news)).collect())
    }

    fn written(&mut self, news: News) -> String {
        match news {
            News::Words(words) => {
                self.head.piece(ChatDelta { content: Some(words), ..no_more() }, None)
            }
            News::MayWait => String::new(),
            News::Failed(envelope) => self.ends_with(envelope.into()),
            News::Over(finish, calls) => {
                self.at = At::Over;
                let calls = calls_of(calls, &self.head);
                let end = self.head.piece(no_more(), Some(finish));
                let usage = self.told.telling.usage();
                let usage = self.tells_usage.then(|| self.head.chunk(Vec::new(), Some(usage)));
                format!("{calls}{end}{}{DONE}", usage.unwrap_or_default())
            }
        }
    }

    fn ends_with(&mut self, refusal: Refusal) -> String {
        self.at = At::Over;
        data(&openai::body(&refusal))
    }
}

fn no_more() -> ChatDelta {
    ChatDelta::default()
}

fn calls_of(calls: Vec<ChatCall>, head: &Head) -> String {
    let piece = |(index, call): (u32, ChatCall)| {
        let ChatCall { id, kind, function } = call;
        let tool_calls = vec![ChatCallPiece { index, id, kind, function }];
        head.piece(ChatDelta { tool_calls, ..no_more() }, None)
    };
    (0..).zip(calls).map(piece).collect()
}

impl sse::Source for Pieces {
    fn next(&mut self) -> BoxFuture<'_, Option<String>> {
        self.more().boxed()
    }

    fn cut_off(&mut self) -> Option<String> {
        let what = "the daemon stops, the credential has ended, or its place is needed";
        let refusal = Refusal::new(ErrorCode::ChatCutOff, what);
        (self.at != At::Over).then(|| self.ends_with(refusal))
    }
}
