//! A guard with names of its own, and requests for it.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

use palyra_common::error::ErrorCode;
use palyra_common::time::Duration;
use palyra_net::{
    Grant, Guard, Hosts, Method, NetConfig, NetError, Request, Resolve, Resolving, Response,
};

/// Nobody waits for this: what takes so long hangs.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);
/// A limit that a test wants to be reached.
pub(crate) const SHORT: Duration = Duration::from_millis(200);

/// Names with the answers that they give one after the other; the last one stays.
#[derive(Default)]
pub(crate) struct Names {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    questions: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn with(self, name: &str, answers: &[&[&str]]) -> Self {
        let parsed = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        let mut answers: Vec<Vec<IpAddr>> = answers.iter().map(parsed).collect();
        answers.reverse();
        self.answers.lock().unwrap().insert(name.to_owned(), answers);
        self
    }

    pub(crate) fn questions(&self) -> Vec<String> {
        self.questions.lock().unwrap().clone()
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        self.questions.lock().unwrap().push(host.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answer = answers.get_mut(host).map(|left| match left.len() {
            0 | 1 => left.last().cloned().unwrap_or_default(),
            _ => left.pop().unwrap(),
        });
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("no such name")) })
    }
}

/// This machine is open under its address, as an operator would open it.
pub(crate) fn open() -> NetConfig {
    NetConfig {
        allow: vec![Ipv4Addr::LOCALHOST.to_string()],
        connect_timeout: PATIENCE,
        ..NetConfig::default()
    }
}

pub(crate) fn guard(config: NetConfig) -> Guard {
    with_names(config, &Arc::default())
}

pub(crate) fn with_names(config: NetConfig, names: &Arc<Names>) -> Guard {
    Guard::new(config, Arc::clone(names) as Arc<dyn Resolve>).unwrap()
}

pub(crate) fn get(url: impl Into<String>) -> Request {
    let grant = Grant { hosts: Hosts::Any, max_bytes: 1 << 20, timeout: PATIENCE };
    Request { method: Method::Get, url: url.into(), headers: Vec::new(), body: None, grant }
}

pub(crate) fn post(url: impl Into<String>, body: &'static str) -> Request {
    Request { method: Method::Post, body: Some(body.into()), ..get(url) }
}

pub(crate) fn within(timeout: Duration, request: Request) -> Request {
    let grant = Grant { timeout, ..request.grant.clone() };
    Request { grant, ..request }
}

pub(crate) fn code(result: &Result<Response, NetError>) -> Option<ErrorCode> {
    result.as_ref().err().map(NetError::code)
}
