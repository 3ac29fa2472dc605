//! `ui.show`.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use palyra_common::a2ui::{
    Card, Change, Component, Fault, MAX_SURFACES, Message, Surfaces, render,
};
use palyra_common::ids::{ConnectorId, ConversationId, RunId, SurfaceId};
use palyra_common::runtime_contracts::{RiskLevel, ToolEffect, ToolReach};
use palyra_connector_core::{CleanText, Envelope, Operation, Outgoing, Release, connector};
use palyra_storage::{Database, Tx, describe};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::reply::call_envelope;
use crate::surfaces;
use crate::tool::{Invocation, Tool, ToolDone, ToolFault, ToolInfo, Weighed};
use crate::tools::SHOW;
use crate::tools::show::cut;

/// What every platform takes in one message.
const MAX_TEXT: usize = 2_000;
/// More is not worth reading.
const MAX_PARTS: usize = 16;
/// More messages are more than one thing to show.
const MAX_MESSAGES: usize = 32;

/// Shows something to those who talk with the agent: as user interface where there is one, and as text in
/// a channel. What is shown, and the message with the text, are written down with the result.
pub(super) struct Show {
    pub(super) db: Database,
    pub(super) outgoing: Arc<dyn Outgoing>,
}

#[derive(Deserialize)]
struct Wanted {
    messages: Option<Vec<Value>>,
    surface: Option<SurfaceId>,
    #[serde(flatten)]
    card: Card,
}

/// What a call shows.
pub(crate) struct Shown {
    pub(crate) messages: Vec<Message>,
    /// In whose place, if any.
    pub(crate) replaces: Replaces,
}

/// What is taken away before something is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Replaces {
    /// Nothing: the messages say what they do.
    Nothing,
    /// The surface of this name, if there is one.
    Named(SurfaceId),
    /// The oldest card that was given no name, if there is room for no more.
    Unnamed,
}

impl Replaces {
    /// Whether this may be what is taken away.
    pub(crate) fn may_be(&self, surface: &SurfaceId) -> bool {
        match self {
            Self::Nothing => false,
            Self::Named(name) => name == surface,
            Self::Unnamed => age(surface).is_some(),
        }
    }
}

impl Tool for Show {
    fn info(&self) -> ToolInfo {
        let text = |what: &str| json!({"type": "string", "maxLength": 32_768, "description": what});
        let named = |fields: Value, required: Value| {
            json!({
                "type": "object", "properties": fields, "required": required,
                "additionalProperties": false,
            })
        };
        let list = |most: usize, what: &str, of: Value| json!({"type": "array", "maxItems": most, "description": what, "items": of});
        let label = || json!({"type": "string", "minLength": 1, "maxLength": 1_000});
        let name = || json!({"type": "string", "minLength": 1, "maxLength": 128});
        let field =
            named(json!({"label": label(), "value": text("The fact.")}), json!(["label", "value"]));
        let input = named(
            json!({"name": name(), "label": label(), "value": text("What stands there already.")}),
            json!(["name", "label"]),
        );
        let button = named(
            json!({"label": label(), "action": name(), "context": {"type": "object"}}),
            json!(["label", "action"]),
        );
        ToolInfo {
            name: SHOW,
            description: "Shows something to those you talk with. Mostly a card is enough: a title, a \
                          text, fields, inputs and buttons. What is pressed comes back as a message that \
                          names the action, with what was filled in. For more give messages of A2UI v0.9 \
                          with the basic catalogue instead of a card.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "title": text("What stands above the rest."),
                    "text": text("What is said."),
                    "fields": list(32, "Facts, one below the other.", field),
                    "inputs": list(16, "Lines to be filled in.", input),
                    "buttons": list(8, "What can be done.", button),
                    "surface": {
                        "type": "string", "pattern": "^[A-Za-z0-9.:_-]{1,128}$",
                        "description": "A name for the card; one of that name is replaced.",
                    },
                    "messages": list(
                        MAX_MESSAGES,
                        "createSurface, updateComponents, updateDataModel, deleteSurface, each with \
                         \"version\": \"v0.9\"; the root component has the id root.",
                        json!({"type": "object"}),
                    ),
                },
                "additionalProperties": false,
            }),
        }
    }

    fn weigh<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        let weighed = shown(call.run, &call.call, &call.arguments).map(|shown| Weighed {
            effect: ToolEffect::SideEffect,
            risk: RiskLevel::Low,
            reach: ToolReach::Here,
            summary: summary(&shown, &call.arguments),
            bindings: Vec::new(),
            with_result: true,
        });
        ready(weighed.map_err(ToolFault::new)).boxed()
    }

    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        Box::pin(async move {
            let shown = shown(call.run, &call.call, &call.arguments).map_err(ToolFault::new)?;
            let (session, place) = (call.session, call.place.reply_to.clone());
            let read = move |tx: &mut Tx<'_>| {
                let is_there = |(id, _): &(ConnectorId, ConversationId)| connector(tx, id);
                let channel = place.as_ref().map(is_there).transpose()?.flatten();
                let place = place.clone().filter(|_| channel.is_some());
                Ok((surfaces::of_session(tx, session)?, place))
            };
            let read = self.db.read(read).await;
            let (mut all, place) = read.map_err(|error| ToolFault::new(describe(&error)))?;
            let messages = shown.on(&mut all).map_err(ToolFault::new)?;
            let sends = match place {
                Some(place) => self.told(call, &messages, &all, place)?,
                None => Vec::new(),
            };
            let done = ToolDone::own(told(&messages, &all));
            Ok(ToolDone { sends, shows: messages, ..done })
        })
    }
}

impl Show {
    /// What is shown as text, where people see nothing else.
    fn told(
        &self,
        call: &Invocation,
        messages: &[Message],
        all: &Surfaces,
        (connector, conversation): (ConnectorId, ConversationId),
    ) -> Result<Vec<Envelope>, ToolFault> {
        let text = touched(messages).into_iter().filter_map(|id| all.0.get(id)).map(render);
        let text = text.collect::<Vec<_>>().join("\n\n");
        let mut texts = CleanText::pieces(&text, MAX_TEXT, &*self.outgoing);
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        texts.truncate(MAX_PARTS);
        let parts =
            texts.into_iter().map(|text| Operation::Send { text, reply_to: None }).collect();
        let id = call_envelope(call.run, &call.call);
        let id = id.map_err(|error| ToolFault::new(error.to_string()))?;
        Ok(vec![Envelope { connector, id, conversation, parts, release: Release::AtOnce }])
    }
}

impl Shown {
    /// The messages that show this where there are these surfaces, which are changed by them.
    fn on(self, all: &mut Surfaces) -> Result<Vec<Message>, String> {
        let Self { mut messages, replaces } = self;
        let is_card = replaces != Replaces::Nothing;
        let gone = match replaces {
            Replaces::Nothing => None,
            Replaces::Named(name) => Some(name).filter(|name| all.0.contains_key(name)),
            Replaces::Unnamed if all.0.len() < MAX_SURFACES => None,
            Replaces::Unnamed => {
                let cards = all.0.keys().filter_map(|id| age(id).map(|age| (age, id)));
                cards.min().map(|(_, id)| id.clone())
            }
        };
        if let Some(surface) = gone {
            messages.insert(0, Message { surface, change: Change::Delete });
        }
        for (n, message) in messages.iter().enumerate() {
            all.apply(message).map_err(|fault| in_words(fault, (!is_card).then_some(n)))?;
        }
        Ok(messages)
    }
}

/// What the arguments of a call show. Depends on nothing else, so that a tape tells it again.
pub(crate) fn shown(run: RunId, call: &str, arguments: &Value) -> Result<Shown, String> {
    let wanted = Wanted::deserialize(arguments);
    let wanted = wanted.map_err(|error| format!("the arguments are not what is taken: {error}"))?;
    match (wanted.messages, wanted.surface) {
        (Some(messages), None) if wanted.card == Card::default() => {
            let message = |(n, value)| Message::of(value).map_err(|fault| in_words(fault, Some(n)));
            let messages =
                messages.iter().enumerate().map(message).collect::<Result<Vec<_>, _>>()?;
            asks_for_no_secret(&messages)?;
            match messages.is_empty() {
                true => Err("/messages: there is nothing to show".to_owned()),
                false => Ok(Shown { messages, replaces: Replaces::Nothing }),
            }
        }
        (Some(_), _) => Err("/messages: give messages or a card, not both".to_owned()),
        (None, _) if wanted.card == Card::default() => {
            Err("there is nothing to show: give a title, a text, or more".to_owned())
        }
        (None, surface) => {
            let (surface, replaces) = match surface {
                Some(surface) => (surface.clone(), Replaces::Named(surface)),
                None => (unnamed(run, call)?, Replaces::Unnamed),
            };
            let messages = wanted.card.messages(&surface).map_err(|fault| in_words(fault, None))?;
            Ok(Shown { messages, replaces })
        }
    }
}

/// The id of a card that is given no name.
fn unnamed(run: RunId, call: &str) -> Result<SurfaceId, String> {
    format!("card-{run}-{call}").parse().map_err(|error| format!("{error}"))
}

/// When a card was shown that was given no name, as compared with others: runs sort by their ids, and calls
/// of a run by the numbers in theirs.
fn age(surface: &SurfaceId) -> Option<(RunId, Vec<u32>)> {
    let (run, call) = surface.as_str().strip_prefix("card-")?.split_once('-')?;
    let numbers = call.split(|c: char| !c.is_ascii_digit()).filter_map(|of| of.parse().ok());
    Some((run.parse().ok()?, numbers.collect()))
}

/// Refuses fields that hide what is typed: it would come back in clear, to be kept on a tape and shown to a
/// model.
fn asks_for_no_secret(messages: &[Message]) -> Result<(), String> {
    for (n, message) in messages.iter().enumerate() {
        let Change::Components(components) = &message.change else { continue };
        let hides = |field: &Component| {
            let is = |name: &str, value: &str| field.fields.get(name).is_some_and(|is| is == value);
            is("component", "TextField") && is("variant", "obscured")
        };
        if let Some(at) = components.iter().position(hides) {
            return Err(format!(
                "/messages/{n}/updateComponents/components/{at}/variant: nothing secret is asked for \
                 on a surface, as what is typed there is kept and shown to models: whoever has the \
                 secret gives it to the vault with `palyra secrets set`"
            ));
        }
    }
    Ok(())
}

/// A fault where the model finds it in its arguments.
fn in_words(fault: Fault, message: Option<usize>) -> String {
    match message {
        Some(n) => fault.under(n).under("messages").to_string(),
        None => format!("the card cannot be shown: {fault}"),
    }
}

fn touched(messages: &[Message]) -> Vec<&SurfaceId> {
    let mut touched: Vec<&SurfaceId> = Vec::new();
    for message in messages {
        if !touched.contains(&&message.surface) {
            touched.push(&message.surface);
        }
    }
    touched
}

fn summary(shown: &Shown, arguments: &Value) -> String {
    let is_card = shown.replaces != Replaces::Nothing;
    match (is_card, arguments.get("title").and_then(Value::as_str)) {
        (true, Some(title)) => format!("show a card: {}", cut(title, 200)),
        (true, None) => "show a card".to_owned(),
        (false, _) => {
            let ids = touched(&shown.messages).into_iter().map(SurfaceId::as_str);
            format!("change what is shown: {}", ids.collect::<Vec<_>>().join(", "))
        }
    }
}

/// What the model is told of what is there now.
fn told(messages: &[Message], all: &Surfaces) -> String {
    let line = |id: &SurfaceId| match all.0.contains_key(id) {
        true => format!("the surface {id} is shown"),
        false => format!("the surface {id} is gone"),
    };
    touched(messages).into_iter().map(line).collect::<Vec<_>>().join("; ")
}
