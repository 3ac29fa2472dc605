//! Changing the configuration of a running daemon.

use palyra_common::api::{ConfigChange, ConfigChanged};

use crate::app::App;
use crate::audit;
use crate::config::{self, Loaded, Origin};
use crate::failure::Failure;
use crate::hosts;

/// Reads the file again and puts into force what can change while the daemon runs. Names the
/// options that changed and need a restart.
pub(crate) fn reload(app: &App) -> Result<Vec<String>, Failure> {
    let loaded = config::load(&app.given, &app.place.data_dir)?;
    apply(app, loaded)
}

/// Writes a change into the file, and puts into force what can change while the daemon runs.
pub(crate) async fn change(
    app: &App,
    change: ConfigChange,
    (actor, origin): (String, String),
) -> Result<ConfigChanged, Failure> {
    let _one_at_a_time = app.changing.lock().await;
    let before = config::load(&app.given, &app.place.data_dir)?;
    let text = config::edited(&before.file, before.text(), &change)?;
    let after = config::layered(&app.given, before.file.clone(), &text)?;
    let keys: Vec<String> = change.set.into_keys().chain(change.unset).collect();
    config::write(&before.file, &text).map_err(|error| Failure::Config {
        path: before.file.clone(),
        what: format!("cannot be written: {error}"),
    })?;
    audit::config_changed(app, &actor, &origin, &keys).await?;
    let changed = outcome(&after, &keys);
    apply(app, after)?;
    Ok(changed)
}

/// Sorts what was asked for by when it takes effect.
pub(crate) fn outcome(after: &Loaded, keys: &[String]) -> ConfigChanged {
    let mut changed = ConfigChanged {
        file: after.file.display().to_string(),
        applied: Vec::new(),
        needs_restart: Vec::new(),
        overridden: Vec::new(),
    };
    for option in config::options().iter().filter(|option| keys.contains(&option.key)) {
        let list = match after.origin(&option.key) {
            Origin::Environment | Origin::CommandLine => &mut changed.overridden,
            Origin::Default | Origin::File if option.is_live() => &mut changed.applied,
            Origin::Default | Origin::File => &mut changed.needs_restart,
        };
        list.push(option.key.clone());
    }
    changed
}

fn apply(app: &App, loaded: Loaded) -> Result<Vec<String>, Failure> {
    app.log.set_level(&loaded.config.log.level)?;
    app.hosts.store(hosts::ours(app.place.http, &loaded.config.http.hosts));
    let (old, new) = (app.settings.load().view(), loaded.view());
    let differs = old.options.iter().zip(&new.options).filter(|(old, new)| old.value != new.value);
    let waiting = differs.filter(|(_, new)| !new.live).map(|(_, new)| new.key.clone()).collect();
    app.settings.store(loaded);
    Ok(waiting)
}
