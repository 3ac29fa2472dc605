//! What a client says while it follows a run. Each is judged by what its credential allows by then.

use palyra_common::ErrorCode;
use palyra_common::api::NewInput;
use palyra_gateway::Wish;

use super::Batch;
use super::talk::{MOST_NEXT, Talk, response};
use crate::actions::{runs, sessions};
use crate::transport::grpc::decode::{if_named, invalid};
use crate::transport::grpc::encode;
use crate::transport::grpc::gateway::approvals;
use crate::transport::grpc::proto::gateway::request_answered::Outcome;
use crate::transport::grpc::proto::gateway::run_stream_request::Request;
use crate::transport::grpc::proto::gateway::run_stream_response::Event;
use crate::transport::grpc::proto::gateway::{
    RequestAnswered, RunStreamRequest, SendInput, StopRun,
};
use crate::transport::http::{Answer, Refusal};

const MAX_REQUEST_ID_CHARS: usize = 128;

impl Talk {
    /// Does what is asked for, and says what came of it. A refusal ends nothing.
    pub(super) async fn answer(&mut self, asked: RunStreamRequest) -> Batch {
        let patience = self.app.config().http.request_timeout;
        let RunStreamRequest { request_id, request } = asked;
        let is_name = request_id.chars().count() <= MAX_REQUEST_ID_CHARS;
        let done = async {
            if !is_name {
                let what = format!("request_id has at most {MAX_REQUEST_ID_CHARS} characters");
                return Err(invalid(what));
            }
            self.carry_out(request).await
        };
        let done = tokio::time::timeout(patience.into(), done).await.unwrap_or_else(|_| {
            let what = format!("it was not done within {patience}; see http.request_timeout");
            Err(Refusal::new(ErrorCode::HttpSlow, what))
        });
        let outcome = done.unwrap_or_else(|why| Outcome::Error(encode::error(why.envelope())));
        let request_id = if is_name { request_id } else { String::new() };
        let answered = RequestAnswered { request_id, outcome: Some(outcome) };
        let mut batch = vec![response(Event::Answered(answered))];
        if self.followed.is_none()
            && let Some(run) = self.next.pop_front()
        {
            batch.push(self.follow(run, 0));
        }
        batch
    }

    async fn carry_out(&mut self, request: Option<Request>) -> Answer<Outcome> {
        let app = self.app.clone();
        self.caller.access = app.identity.look_again(&self.caller.access).await?;
        app.rates.admit(&self.caller.access)?;
        match request {
            Some(Request::Input(input)) => self.say(input).await,
            Some(Request::Decide(decide)) => {
                let decided = approvals::decided(&app, &self.caller, decide).await?;
                Ok(Outcome::Approval(encode::approval(decided)))
            }
            Some(Request::Abort(StopRun { run_id })) => {
                let followed = self.followed.as_ref().map(|followed| followed.run);
                let run = if_named("run_id", &run_id)?.or(followed);
                let run = run.ok_or_else(|| invalid("run_id: no run is followed".to_owned()))?;
                let run = runs::wish(&app, &self.caller, run, Wish::Abort).await?;
                Ok(Outcome::Phase(run.phase.to_string()))
            }
            Some(Request::Start(_) | Request::Attach(_)) => {
                let what = "this stream follows a run already: open another one";
                Err(invalid(what.to_owned()))
            }
            None => Err(invalid("the request says nothing that is understood".to_owned())),
        }
    }

    async fn say(&mut self, input: SendInput) -> Answer<Outcome> {
        let key = crate::transport::http::OnceKey::named(input.idempotency_key.as_deref())?;
        if self.next.len() >= MOST_NEXT {
            let what = format!("{MOST_NEXT} runs wait to be followed on this stream");
            return Err(Refusal::new(ErrorCode::HttpBusy, what));
        }
        let input = NewInput { text: input.text };
        let said = sessions::say(&self.app, &self.caller, key, self.session, input).await?;
        // What joins a run is told on its tape.
        let is_followed = self.followed.as_ref().is_some_and(|known| known.run == said.run);
        if !is_followed && !self.next.contains(&said.run) {
            self.next.push_back(said.run);
        }
        Ok(Outcome::RunId(said.run.to_string()))
    }
}
