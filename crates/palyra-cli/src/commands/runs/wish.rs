//! `palyra runs abort`, `pause` and `resume`

use std::time::{Duration, Instant};

use palyra_client::RunWish;
use palyra_common::api::Run;
use palyra_common::ids::RunId;
use palyra_common::runtime_contracts::RunLifecyclePhase;

use super::show;
use crate::context::Context;
use crate::failure::Outcome;

/// How long somebody waits to see that it is done.
const OBEYS_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Stop a run at once
///
/// A tool that was at work is interrupted; if nobody knows what it did, its run says so.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra runs abort 01HZ3V9K8M2QF6T7Y4W5X6A7B8"
)]
pub(crate) struct AbortArguments {
    /// The run
    #[arg(value_name = "RUN")]
    run: RunId,
}

/// Let a run wait until it is resumed
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra runs pause 01HZ3V9K8M2QF6T7Y4W5X6A7B8"
)]
pub(crate) struct PauseArguments {
    /// The run
    #[arg(value_name = "RUN")]
    run: RunId,
}

/// Let a run go on that was paused
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:\n  palyra runs resume 01HZ3V9K8M2QF6T7Y4W5X6A7B8"
)]
pub(crate) struct ResumeArguments {
    /// The run
    #[arg(value_name = "RUN")]
    run: RunId,
}

pub(super) async fn abort(context: &Context, arguments: AbortArguments) -> Outcome {
    wish(context, arguments.run, RunWish::Abort).await
}

pub(super) async fn pause(context: &Context, arguments: PauseArguments) -> Outcome {
    wish(context, arguments.run, RunWish::Pause).await
}

pub(super) async fn resume(context: &Context, arguments: ResumeArguments) -> Outcome {
    wish(context, arguments.run, RunWish::Resume).await
}

async fn wish(context: &Context, run: RunId, wish: RunWish) -> Outcome {
    let client = context.client()?;
    let mut now = client.wish(run, wish).await?;
    let until = Instant::now() + OBEYS_WITHIN;
    // Whoever works on it is told, and obeys at once.
    while !has_obeyed(&now, wish) && Instant::now() < until {
        tokio::time::sleep(LOOK_EVERY).await;
        now = client.run(run).await?;
    }
    let has_obeyed = has_obeyed(&now, wish);
    context.out().show(&now, |out, run| match has_obeyed {
        true => show::text(out, run),
        false => format!("It was told, and has not obeyed yet.\n{}", show::text(out, run)),
    })
}

fn has_obeyed(run: &Run, wish: RunWish) -> bool {
    match wish {
        RunWish::Abort | RunWish::Pause => run.phase != RunLifecyclePhase::Running,
        RunWish::Resume => run.phase != RunLifecyclePhase::Paused,
    }
}
