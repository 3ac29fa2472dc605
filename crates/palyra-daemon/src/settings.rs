//! Changing the configuration of a running daemon.

use std::collections::BTreeSet;

use palyra_common::api::{ConfigChange, ConfigChanged, ConfigOption, ConfigView};
use palyra_common::{ErrorCode, StableErrorEnvelope};
use palyra_identity::Credential;

use crate::app::App;
use crate::audit;
use crate::config::{self, Edited, Loaded, Lock, Origin};
use crate::failure::Failure;
use crate::{deployment, hosts};

/// Reads the file again and puts into force what can change while the daemon runs. Names the
/// options that changed and need a restart.
pub(crate) async fn reload(app: &App) -> Result<Vec<String>, Failure> {
    // What was read may not come into force after a change that was made meanwhile.
    let _one_at_a_time = app.changing.lock().await;
    let loaded = config::load(&app.given, &app.place.data_dir)?;
    apply(app, loaded)
}

/// Writes a change into the file, and puts into force what can change while the daemon runs.
pub(crate) async fn change(
    app: &App,
    change: ConfigChange,
    expected: Option<&str>,
    actor: &audit::Actor,
) -> Result<ConfigChanged, Failure> {
    let _one_at_a_time = app.changing.lock().await;
    let lock = locked(app).await?;
    let (file, before) = config::read(&app.given, &app.place.data_dir)?;
    let was = match config::layered(&app.given, file.clone(), &before) {
        // The owner may repair a file that cannot be used; what is left then is checked below.
        Err(failure) if actor.credential != Credential::LocalOwner => return Err(failure),
        was => was.ok(),
    };
    if expected.is_some_and(|tag| tag != "*" && tag != app.file_tag(&before)) {
        let what = "the configuration has changed since it was read";
        return Err(Failure::Refused(StableErrorEnvelope::new(ErrorCode::CommonConflict, what)));
    }
    let Edited { text, not_set } = config::edited(&file, &before, &change)?;
    let after = config::layered(&app.given, file.clone(), &text)?;
    deployment::check_change(&change, was.as_ref().map(|was| &*was.config), &after.config)?;
    let keys: Vec<String> = change.set.into_keys().chain(change.unset).collect();
    if keys.iter().all(|key| not_set.contains(key)) {
        return Ok(outcome(&after, &keys, not_set));
    }
    config::write(&file, &text)
        .map_err(|error| Failure::Unwritable { path: file.clone(), error })?;
    drop(lock);
    let mut changed = outcome(&after, &keys, not_set);
    // What is set back to what it was at the start does not wait for another one.
    let is_in_force = |key: &mut String| after.agrees(&app.started_with, key);
    changed.applied.extend(changed.needs_restart.extract_if(.., is_in_force));
    // It is changed, whether that can be recorded or not.
    if let Err(error) = audit::config_changed(app, actor, &keys).await {
        let (code, error) = (error.code(), palyra_storage::describe(&error));
        tracing::error!(%code, error, ?keys, "a change of the configuration was not recorded");
    }
    apply(app, after)?;
    Ok(changed)
}

/// Keeps whoever changes the file without the daemon from doing so meanwhile.
async fn locked(app: &App) -> Result<Lock, Failure> {
    // A file that cannot be read is told before a folder is made for it.
    let (file, _) = config::read(&app.given, &app.place.data_dir)?;
    let locked = tokio::task::spawn_blocking(move || config::lock(&file)).await;
    locked.map_err(|error| Failure::Startup(error.into()))?
}

/// Sorts what was asked for by when it takes effect.
pub(crate) fn outcome(after: &Loaded, keys: &[String], not_set: Vec<String>) -> ConfigChanged {
    let mut changed = ConfigChanged {
        file: after.file.display().to_string(),
        applied: Vec::new(),
        needs_restart: Vec::new(),
        overridden: Vec::new(),
        not_set,
    };
    let keys: BTreeSet<&String> =
        keys.iter().filter(|key| !changed.not_set.contains(key)).collect();
    for key in keys {
        let option = config::option(key);
        // What is neither an option nor holds any was a mistake, and had no effect.
        if option.is_none() && !config::is_part(key) {
            continue;
        }
        let list = match after.origin(key) {
            Origin::Environment | Origin::CommandLine => &mut changed.overridden,
            Origin::Default | Origin::File => match option.is_some_and(|option| option.is_live()) {
                true => &mut changed.applied,
                false => &mut changed.needs_restart,
            },
        };
        list.push(key.clone());
    }
    changed
}

/// What decides which programs the daemon runs, where it keeps everything, and under which names it
/// is reached and sends people to log in: whoever may change the configuration from elsewhere must
/// gain neither the daemon's user by it nor the owner's login.
pub(crate) fn is_for_local_owner(key: &str) -> bool {
    // The address of a provider is where its key is sent to. What agents may reach besides the web, and
    // where they may write, is what keeps them out of the house.
    let sections = ["vault.", "storage.", "http.", "grpc.", "models.providers", "net.", "agents."];
    sections.iter().any(|section| key.starts_with(section))
}

/// The values in force beside those of the file as it is now, and its tag. Whoever changed the file
/// by hand can so go on with what they see.
pub(crate) fn view(app: &App) -> (ConfigView, String) {
    let in_force = app.settings.load();
    // A change tells what is wrong with a file that cannot be read.
    let Ok((file, text)) = config::read(&app.given, &app.place.data_dir) else {
        return (beside(app, &in_force), app.file_tag(in_force.text()));
    };
    let tag = app.file_tag(&text);
    // There is no next start with a file that cannot be used; the doctor tells why.
    let next = config::layered(&app.given, file, &text);
    (next.map_or_else(|_| beside(app, &in_force), |next| beside(app, &next)), tag)
}

/// The values in force, and beside them those of the next start where they differ.
fn beside(app: &App, next: &Loaded) -> ConfigView {
    let (started, mut view) = (app.started_with.view(), app.settings.load().view());
    // What was read last is in force where it is live, with the names that were given there.
    for option in view.options.iter_mut().filter(|option| !option.live) {
        if let Some(started) = started.options.iter().find(|started| started.key == option.key) {
            *option = started.clone();
        }
    }
    let is_same = |key: &str| app.started_with.is_same_behind(next, key);
    let next = next.view();
    let value = |key: &str| next.options.iter().find(|option| option.key == key);
    for option in &mut view.options {
        // What is not named any more has no value then.
        let next = value(&option.key).map_or(serde_json::Value::Null, |next| next.value.clone());
        if option.value != next || !is_same(&option.key) {
            option.next = Some(next);
        }
    }
    let is_new = |option: &&ConfigOption| !view.options.iter().any(|old| old.key == option.key);
    let new: Vec<ConfigOption> = next.options.iter().filter(is_new).cloned().collect();
    view.options.extend(new.into_iter().map(|option| ConfigOption {
        next: Some(option.value),
        value: serde_json::Value::Null,
        ..option
    }));
    view
}

fn apply(app: &App, loaded: Loaded) -> Result<Vec<String>, Failure> {
    app.log.set_level(&loaded.config.log.level)?;
    if loaded.config.models != app.settings.load().config.models {
        app.runs.reload(&loaded.config.models)?;
    }
    let public_url = &app.config().http.public_url;
    app.hosts.store(hosts::ours(app.place.http, &loaded.config.http.hosts, public_url));
    app.settings.store(loaded);
    let waiting = beside(app, &app.settings.load())
        .options
        .into_iter()
        .filter(|option| option.next.is_some());
    Ok(waiting.map(|option| option.key).collect())
}
