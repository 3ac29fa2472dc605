//! What agents see of the web: through the network guard, and no other way.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use palyra_common::time::Duration;
use palyra_gateway::{FetchMethod, Fetched, Fetcher};
use palyra_net::{Grant, Guard, Hosts, Method, NetConfig, Request, SystemResolver};

use crate::failure::Failure;

/// How long an agent waits for a page.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Web(Guard);

impl Web {
    pub(super) fn new(config: &NetConfig) -> Result<Self, Failure> {
        let guard = Guard::new(config.clone(), Arc::new(SystemResolver));
        guard.map(Self).map_err(|error| Failure::Refused(error.envelope()))
    }
}

impl Fetcher for Web {
    fn fetch<'a>(
        &'a self,
        method: FetchMethod,
        url: &'a str,
        max_bytes: usize,
    ) -> BoxFuture<'a, Result<Fetched, String>> {
        Box::pin(async move {
            let request = Request {
                method: match method {
                    FetchMethod::Get => Method::Get,
                    FetchMethod::Head => Method::Head,
                },
                url: url.to_owned(),
                headers: Vec::new(),
                body: None,
                grant: Grant {
                    hosts: Hosts::Any,
                    max_bytes: u64::try_from(max_bytes).unwrap_or(u64::MAX),
                    timeout: PATIENCE,
                },
            };
            let answer = self.0.fetch(request).await.map_err(|error| error.to_string())?;
            Ok(Fetched {
                status: answer.status,
                content_type: answer.header("content-type").map(str::to_owned),
                final_url: answer.final_url,
                body: answer.body,
                // What is larger was refused: half a page can look like a whole one.
                truncated: false,
            })
        })
    }
}
