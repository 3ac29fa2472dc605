//! `http.fetch`, and the port to whoever speaks HTTP.

mod html;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use palyra_common::runtime_contracts::ToolReach;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::ask::{arguments, reads};
use super::show::{cut, is_hidden};
use crate::tool::{Invocation, Tool, ToolDone, ToolFault, ToolInfo, Weighed};

/// So much of an answer is read.
const MAX_BYTES: usize = 2 << 20;
/// So much text is made of it.
const MAX_TEXT: usize = 512 * 1024;

/// What is asked of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchMethod {
    /// The content.
    Get,
    /// What would be said about it.
    Head,
}

/// An answer of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Its status.
    pub status: u16,
    /// The address that answered, after redirects.
    pub final_url: String,
    /// What it says that its content is.
    pub content_type: Option<String>,
    /// The content, decompressed.
    pub body: Bytes,
    /// Whether there was more than was wanted.
    pub truncated: bool,
}

/// Asks servers on behalf of agents, and only those that agents may reach.
///
/// *Ordering*: none. *Idempotency*: it only reads. *Cancellation*: dropping the future ends the
/// request. It follows redirects itself, sends no credentials, and gives up by itself on whoever is
/// too slow. An answer with any status is one; the error says why there is none, in words.
pub trait Fetcher: Send + Sync {
    /// Asks; of the content at most `max_bytes` are read.
    fn fetch<'a>(
        &'a self,
        method: FetchMethod,
        url: &'a str,
        max_bytes: usize,
    ) -> BoxFuture<'a, Result<Fetched, String>>;
}

pub(super) struct Fetch(pub(super) Arc<dyn Fetcher>);

/// Switches and no words: of a call that repeats what an operator said, every word has to be theirs.
#[derive(Deserialize)]
struct Wanted {
    url: String,
    #[serde(default)]
    head: bool,
    #[serde(default)]
    raw: bool,
}

impl Tool for Fetch {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "http.fetch",
            description: "Reads a page or file from the web. Of HTML you get the text, with the \
                          addresses of links in brackets behind them.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "url": {
                        "type": "string", "minLength": 8, "maxLength": 2048,
                        "description": "An http or https address.",
                    },
                    "head": {
                        "type": "boolean",
                        "description": "Whether to ask only what is there, without its content.",
                    },
                    "raw": {
                        "type": "boolean",
                        "description": "Whether to get HTML as it is.",
                    },
                },
                "required": ["url"],
                "additionalProperties": false,
            }),
        }
    }

    fn weigh<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        Box::pin(async move {
            let wanted: Wanted = arguments(call)?;
            check(&wanted.url)?;
            Ok(reads(ToolReach::Elsewhere, format!("fetch {}", wanted.url)))
        })
    }

    fn run<'a>(&'a self, call: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        Box::pin(async move {
            let Wanted { url, head, raw } = arguments(call)?;
            check(&url)?;
            let method = if head { FetchMethod::Head } else { FetchMethod::Get };
            let fetched = self.0.fetch(method, &url, MAX_BYTES).await.map_err(ToolFault)?;
            Ok(ToolDone::untrusted(told(&fetched, method, raw)))
        })
    }
}

/// What nobody needs to be asked about. Whether the address may be reached says whoever goes there.
fn check(url: &str) -> Result<(), ToolFault> {
    let rest = url.split_once("://").filter(|(scheme, _)| {
        ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
    });
    let Some((_, rest)) = rest else {
        return Err(ToolFault::new(
            "only addresses that begin with http:// or https:// are fetched",
        ));
    };
    let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if host.is_empty() {
        return Err(ToolFault::new("the address names no host"));
    }
    if host.contains('@') {
        return Err(ToolFault::new(
            "an address holds no name or password: leave out what is before @",
        ));
    }
    if url.chars().any(|c| is_hidden(c) || c.is_whitespace()) {
        return Err(ToolFault::new("an address has no blanks or control characters: write %20"));
    }
    Ok(())
}

fn told(fetched: &Fetched, method: FetchMethod, raw: bool) -> String {
    let Fetched { status, final_url, content_type, body, truncated } = fetched;
    let kind = content_type.as_deref().unwrap_or("no content type");
    let head = format!("{status} {} ({})", cut(final_url, 2_048), cut(kind, 200));
    if method == FetchMethod::Head {
        return head;
    }
    let Some(text) = text(kind, content_type.is_some(), body, *truncated) else {
        let sha256: String =
            Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
        let (more, size) = (if *truncated { "more than " } else { "" }, body.len());
        return format!("{head}\n[not text, so not shown: {more}{size} bytes, SHA-256 {sha256}]");
    };
    let mut text = match is_html(kind) && !raw {
        true => html::text(&text, MAX_TEXT),
        false => text,
    };
    let cut = text.len() > MAX_TEXT;
    if cut {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
    }
    let note = if cut || *truncated { "\n[there is more, which was not read]" } else { "" };
    format!("{head}\n\n{text}{note}")
}

fn is_html(kind: &str) -> bool {
    let kind = essence(kind);
    kind == "text/html" || kind == "application/xhtml+xml"
}

/// `text/html` of `Text/HTML; charset=utf-8`.
fn essence(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The content as text, if it is some: UTF-8, or Latin-1 where it says so.
fn text(kind: &str, said: bool, body: &[u8], truncated: bool) -> Option<String> {
    let essence = essence(kind);
    let known = [
        "application/javascript",
        "application/json",
        "application/toml",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-www-form-urlencoded",
        "application/xml",
        "application/yaml",
    ];
    let textual = essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || known.contains(&essence.as_str());
    if (said && !textual) || body.contains(&0) {
        return None;
    }
    let kind = kind.to_ascii_lowercase();
    if ["iso-8859-1", "latin1", "windows-1252"].iter().any(|charset| kind.contains(charset)) {
        return Some(body.iter().map(|byte| char::from(*byte)).collect());
    }
    match std::str::from_utf8(body) {
        Ok(text) => Some(text.to_owned()),
        // Cut within a character, or by a server that is careless about them.
        Err(error) if said || (truncated && error.error_len().is_none()) => {
            Some(String::from_utf8_lossy(body).into_owned())
        }
        Err(_) => None,
    }
}
