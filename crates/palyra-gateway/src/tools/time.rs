//! `time.now`.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use palyra_common::runtime_contracts::{RiskLevel, ToolEffect, ToolReach};
use palyra_common::time::Clock;
use serde_json::json;

use crate::tool::{Invocation, Tool, ToolDone, ToolFault, ToolInfo, Weighed};

pub(super) struct Now {
    clock: Arc<dyn Clock>,
}

impl Now {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock }
    }
}

impl Tool for Now {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "time.now",
            description: "Tells the time, in UTC.",
            input_schema: json!({
                "type": "object", "properties": {}, "additionalProperties": false,
            }),
        }
    }

    fn weigh<'a>(&'a self, _: &'a Invocation) -> BoxFuture<'a, Result<Weighed, ToolFault>> {
        let weighed = Weighed {
            effect: ToolEffect::ReadOnly,
            risk: RiskLevel::Low,
            reach: ToolReach::OwnData,
            summary: "tell the time".to_owned(),
            bindings: Vec::new(),
            with_result: false,
        };
        ready(Ok(weighed)).boxed()
    }

    fn run<'a>(&'a self, _: &'a Invocation) -> BoxFuture<'a, Result<ToolDone, ToolFault>> {
        let now = self.clock.now();
        ready(Ok(ToolDone::own(format!("{now} (unix milliseconds {})", now.as_unix_millis()))))
            .boxed()
    }
}
