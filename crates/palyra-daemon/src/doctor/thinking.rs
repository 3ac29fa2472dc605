//! Whether agents can think and work.

use palyra_common::api::{Check, CheckState};
use palyra_gateway::Counts;
use palyra_models::{ProviderState, ProviderStatus};
use palyra_vault::SecretName;

use super::{advised, check};
use crate::app::App;

/// How many agents are looked at, which are more than anybody has.
const LOOKED_AT: u32 = 1000;

/// The models, how their providers do, and whether their keys are there. Nobody is asked anything:
/// that costs money, and `palyra models test` does it.
pub(super) async fn models(app: &App) -> Check {
    let name = "models";
    let models = app.runs.models.load();
    let names: Vec<&str> = models.list().map(|model| model.name.as_str()).collect();
    let missing = keys_without_secret(app).await;
    if !missing.is_empty() {
        let seen = format!(
            "{}; these keys are not in the vault: {}",
            names.join(", "),
            missing.join(", ")
        );
        let failed = check(name, CheckState::Failed, seen);
        return advised(failed, format!("Set each: palyra secrets set {}", missing[0]));
    }
    let paused = |status: &ProviderStatus| status.state != ProviderState::Open;
    let paused: Vec<_> = models.providers().into_iter().filter(paused).collect();
    if paused.is_empty() {
        return check(name, CheckState::Ok, names.join(", "));
    }
    let told = paused.iter().map(|status| match &status.why {
        Some(why) => format!("{}, because {why}", status.name),
        None => status.name.clone(),
    });
    let told: Vec<_> = told.collect();
    let seen = format!("{}; left alone after failures: {}", names.join(", "), told.join("; "));
    let doubtful = check(name, CheckState::Warning, seen);
    advised(doubtful, "It is tried again by itself; `palyra models test` tries it now.")
}

/// Whether the models that agents are to think with are there. The configuration may have lost them.
pub(super) async fn agents(app: &App) -> Check {
    let name = "agents";
    let agents = match app.runs.agents.list(String::new(), LOOKED_AT).await {
        Ok(agents) => agents,
        Err(error) => return check(name, CheckState::Failed, error.envelope().to_string()),
    };
    let models = app.runs.models.load();
    let lacking = agents.iter().filter_map(|agent| {
        let missing = models.missing(&agent.spec.models);
        (!missing.is_empty()).then(|| format!("{} has no {}", agent.id, missing.join(", ")))
    });
    let lacking: Vec<String> = lacking.collect();
    if lacking.is_empty() {
        let names: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
        return check(name, CheckState::Ok, names.join(", "));
    }
    let doubtful = check(name, CheckState::Warning, format!("models: {}", lacking.join("; ")));
    advised(doubtful, "`palyra models list` tells those there are, `palyra agents set` chooses.")
}

/// The keys that the configuration names and nobody has set.
async fn keys_without_secret(app: &App) -> Vec<String> {
    let config = &app.settings.load().config.models;
    let named: Vec<SecretName> =
        config.providers.values().filter_map(|provider| provider.api_key.parse().ok()).collect();
    let mut missing = Vec::new();
    for name in named {
        // Without its database the vault has failed already.
        if matches!(app.vault.has(&name).await, Ok(false)) {
            missing.push(name.to_string());
        }
    }
    missing
}

/// Whether runs are worked on.
pub(super) async fn runs(app: &App) -> Check {
    let name = "runs";
    let counts = match Counts::read(&app.db).await {
        Ok(counts) => counts,
        Err(error) => return check(name, CheckState::Failed, error.envelope().to_string()),
    };
    let open: u64 = counts.runs.iter().map(|(_, count)| *count).sum();
    let (questions, most) = (counts.questions, app.config().runs.capacity);
    let seen = format!("{open} open, {questions} questions wait for a human, {most} at once here");
    if app.runs.pulse.is_felt(app.clock.now()) {
        return check(name, CheckState::Ok, seen);
    }
    let failed = check(name, CheckState::Failed, format!("nobody works on runs here: {seen}"));
    advised(failed, "Look at the log for the reason; other nodes take over meanwhile.")
}
