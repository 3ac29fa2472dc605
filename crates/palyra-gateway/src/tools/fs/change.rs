//! A change of a file, from what is decided about to what is written.

use palyra_common::runtime_contracts::{RiskLevel, ToolEffect, ToolReach};
use palyra_common::tape::Binding;
use palyra_connector_core::Outgoing;
use rustix::fs::Mode;
use sha2::{Digest, Sha256};

use super::diff::diff;
use crate::tool::{Invocation, ToolDone, ToolFault, Weighed};
use crate::tools::workspace::{MAX_TEXT, Opened, WorkPath, Workspace, Workspaces};

/// A larger file is not replaced.
const MAX_BASE: u64 = 16 << 20;

/// A file as it was found.
pub(super) struct Base {
    pub(super) content: Vec<u8>,
    mode: Mode,
}

/// What a file is to be.
pub(super) struct Change {
    pub(super) path: WorkPath,
    pub(super) base: Option<Base>,
    pub(super) content: String,
}

impl Base {
    /// The file as it is, if there is one.
    pub(super) fn find(
        workspace: Option<&Workspace>,
        path: &WorkPath,
    ) -> Result<Option<Self>, ToolFault> {
        let Some(workspace) = workspace else { return Ok(None) };
        let read =
            |opened: Opened| Ok(Self { content: opened.read(path, MAX_BASE)?, mode: opened.mode });
        workspace.find(path)?.map(read).transpose()
    }
}

impl Change {
    fn binding(&self) -> Binding {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let sha256 = self.base.as_ref().map(|base| hex(&Sha256::digest(&base.content)));
        Binding { name: format!("file:{}", self.path), sha256 }
    }

    fn check(&self) -> Result<(), ToolFault> {
        if self.content.len() as u64 > MAX_TEXT {
            let what =
                format!("a file is written with at most {MAX_TEXT} bytes: use several files");
            return Err(ToolFault::new(what));
        }
        Ok(())
    }

    /// What the change is, with what it is bound to. `outgoing` takes secrets out of what is shown of it.
    pub(super) fn weighed(&self, outgoing: &dyn Outgoing) -> Result<Weighed, ToolFault> {
        self.check()?;
        Ok(Weighed {
            effect: ToolEffect::SideEffect,
            risk: RiskLevel::Medium,
            reach: ToolReach::OwnData,
            summary: self.summary(outgoing),
            bindings: vec![self.binding()],
            with_result: false,
        })
    }

    fn summary(&self, outgoing: &dyn Outgoing) -> String {
        let (path, new) = (&self.path, self.content.len());
        // As a whole: of a line that is cut, half a secret would be left.
        let content = outgoing.clean(&self.content);
        let Some(base) = &self.base else {
            return format!("make {path}, {new} bytes\n{}", diff("", &content));
        };
        let old = base.content.len();
        match std::str::from_utf8(&base.content) {
            Ok(text) if text == self.content => {
                format!("write {path} again as it is, {new} bytes")
            }
            Ok(text) => {
                let shown = diff(&outgoing.clean(text), &content);
                format!("change {path}, {old} to {new} bytes\n{shown}")
            }
            Err(_) => {
                let shown = diff("", &content);
                format!("replace {path}, which is no text, {old} to {new} bytes\n{shown}")
            }
        }
    }

    /// Writes it, if the file is still what was decided about.
    pub(super) fn carry_out(
        &self,
        workspaces: &Workspaces,
        call: &Invocation,
    ) -> Result<ToolDone, ToolFault> {
        self.check()?;
        if call.bindings != [self.binding()] {
            return Err(ToolFault::new(format!(
                "{} was changed by somebody else meanwhile; nothing was written: read it again",
                self.path
            )));
        }
        let mode = self.base.as_ref().map(|base| base.mode);
        workspaces.make(&call.agent)?.replace(&self.path, self.content.as_bytes(), mode)?;
        let done = if self.base.is_some() { "changed" } else { "made" };
        Ok(ToolDone::own(format!("{done} {}: {} bytes", self.path, self.content.len())))
    }
}
