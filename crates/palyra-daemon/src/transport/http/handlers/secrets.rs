use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use palyra_common::ErrorCode;
use palyra_common::api::{
    MasterRotated, Page, RotateMaster, Secret, SecretStored, SecretValue, SecretVersion, Texts,
};
use palyra_common::runtime_contracts::Scope;
use palyra_identity::Access;
use palyra_storage::EngineKind;
use palyra_storage::once::Made;
use palyra_vault::{
    Actor, GoesNext, NewMaster, NextStep, Rotated, SecretInfo, SecretName, SecretString,
};
use serde::Deserialize;

use crate::actions::checked_limit;
use crate::app::App;
use crate::failure::Failure;
use crate::transport::http::body::{JsonBody, PathOf, QueryOf};
use crate::transport::http::caller::Caller;
use crate::transport::http::once::{OnceKey, Told};
use crate::transport::http::refusal::{Answer, Refusal};

/// Where a list of secrets goes on.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AfterSecret {
    /// `next` of the page before
    #[param(value_type = Option<String>,
        pattern = r"^(global|(agent|connector|skill|principal):[A-Za-z0-9.:_-]{1,128})/(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$")]
    after: Option<SecretName>,
    /// How many at most
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Names and versions of secrets, by scope and name, never their values
#[utoipa::path(get, path = "/admin/v1/secrets", tag = "secrets", params(AfterSecret),
    responses((status = 200, body = Page<Secret>)))]
pub(crate) async fn list_secrets(
    State(app): State<App>,
    caller: Caller,
    QueryOf(page): QueryOf<AfterSecret>,
) -> Answer<Json<Page<Secret>>> {
    caller.allow(Scope::SecretsRead)?;
    let limit = checked_limit(page.limit, palyra_vault::PAGE_LIMIT)?;
    let page = app.vault.list(page.after, limit).await?;
    let next = page.next.map(|name| name.to_string());
    Ok(Json(Page { items: page.secrets.into_iter().map(secret).collect(), next }))
}

/// Stores a value as the newest version of a secret
#[utoipa::path(put, path = "/admin/v1/secrets/{scope}/{name}", tag = "secrets",
    params(("scope" = String, Path, description = "Its scope, as global or agent:ID",
            pattern = "^(global|(agent|connector|skill|principal):[A-Za-z0-9.:_-]{1,128})$"),
        ("name" = String, Path, description = "Its name within the scope",
            pattern = r"^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$"), OnceKey),
    request_body = SecretValue, responses((status = 200, body = SecretStored, headers(
        ("idempotency-replayed" = String, description = "true: it was stored before")))))]
pub(crate) async fn set_secret(
    State(app): State<App>,
    caller: Caller,
    PathOf(path): PathOf<(String, String)>,
    key: OnceKey,
    JsonBody(body): JsonBody<SecretValue>,
) -> Answer<Told<SecretStored>> {
    let caller = caller.allow(Scope::SecretsWrite)?;
    let name = parse(&path)?;
    // Nothing may be kept of the value; the vault compares it itself.
    let once = key.of("secret.set", &path)?;
    let value = SecretString::from(body.value);
    let made = app.vault.set_once(&name, value, once, &actor(&caller)).await?;
    let (scope, name) = path;
    let stored = |version| SecretStored { scope, name, version };
    Ok(Told::done(match made {
        Made::Now(version) => Made::Now(stored(version)),
        Made::Before(version) => Made::Before(stored(version)),
    }))
}

/// Removes a secret with all its versions
#[utoipa::path(delete, path = "/admin/v1/secrets/{scope}/{name}", tag = "secrets",
    params(("scope" = String, Path, description = "Its scope, as global or agent:ID",
            pattern = "^(global|(agent|connector|skill|principal):[A-Za-z0-9.:_-]{1,128})$"),
        ("name" = String, Path, description = "Its name within the scope",
            pattern = r"^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$")),
    responses((status = 204, description = "It is gone")))]
pub(crate) async fn delete_secret(
    State(app): State<App>,
    caller: Caller,
    PathOf(path): PathOf<(String, String)>,
) -> Answer<StatusCode> {
    let caller = caller.allow(Scope::SecretsWrite)?;
    app.vault.delete(&parse(&path)?, &actor(&caller)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Takes the values of secrets out of texts; refused while one of them cannot be read
#[utoipa::path(post, path = "/admin/v1/redact", tag = "secrets",
    request_body = Texts, responses((status = 200, body = Texts)))]
pub(crate) async fn redact(
    State(app): State<App>,
    caller: Caller,
    JsonBody(body): JsonBody<Texts>,
) -> Answer<Json<Texts>> {
    // Whoever may ask can find out whether a guess is right.
    caller.allow(Scope::SecretsRead)?.local("texts can only be redacted")?;
    app.vault.knows_all().await?;
    let redactor = app.vault.redactor().clone();
    let work = move || body.texts.iter().map(|text| redactor.redact(text).into_owned()).collect();
    let texts = tokio::task::spawn_blocking(work).await;
    Ok(Json(Texts { texts: texts.map_err(|error| Failure::Startup(error.into()))? }))
}

/// Changes the master key; the values stay as they are
#[utoipa::path(post, path = "/admin/v1/secrets/rotate-master", tag = "secrets",
    params(OnceKey), request_body = RotateMaster,
    responses((status = 200, body = MasterRotated, headers(
        ("idempotency-replayed" = String, description = "true: it was changed before")))))]
pub(crate) async fn rotate_master(
    State(app): State<App>,
    caller: Caller,
    key: OnceKey,
    JsonBody(body): JsonBody<RotateMaster>,
) -> Answer<Told<MasterRotated>> {
    let caller = caller.allow(Scope::SecretsWrite)?;
    if body.passphrase.is_some() || body.command.is_some() {
        caller.only_local("where the master key comes from")?;
        key.none_with("a passphrase or a command")?;
    }
    let once = key.of("master.rotate", &())?;
    let new = match (body.passphrase, body.command) {
        (Some(passphrase), None) => NewMaster::Passphrase(SecretString::from(passphrase)),
        (None, Some(command)) => NewMaster::Command(command),
        (None, None) => NewMaster::Generated,
        (Some(_), Some(_)) => {
            let what = "give either a passphrase or a command";
            return Err(Refusal::new(ErrorCode::CommonInvalidInput, what));
        }
    };
    let engine = app.db.engine();
    // Whoever asks may go away; what was begun is finished.
    let rotating =
        tokio::spawn(async move { app.vault.rotate_master_once(new, once, &actor(&caller)).await });
    let rotated = rotating.await.map_err(|error| Failure::Startup(error.into()))??;
    Ok(Told::done(match rotated {
        Made::Now(rotated) => Made::Now(master_rotated(rotated, engine)),
        Made::Before(rotated) => Made::Before(master_rotated(rotated, engine)),
    }))
}

fn master_rotated(rotated: Rotated, engine: EngineKind) -> MasterRotated {
    let next = next_step(&rotated, engine).into_iter();
    let next: Vec<String> = next.chain(rotated.goes_next.as_ref().map(keep)).collect();
    let told = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
    MasterRotated {
        key_id: rotated.key_id.to_string(),
        key_file: told(rotated.key_file),
        old_key_id: rotated.old_key_id.to_string(),
        old_key_file: told(rotated.old_key_file),
        rewrapped: rotated.versions,
        next_step: (!next.is_empty()).then(|| next.join(" ")),
    }
}

/// Before it is too late.
fn keep(GoesNext { key_id, file }: &GoesNext) -> String {
    let place = match file {
        Some(file) => format!("in {}", file.display()),
        None => "in the keyring".into(),
    };
    format!(
        "The next change removes the oldest key that is kept, {key_id}, {place}: copy it first if \
         there are backups that need it."
    )
}

fn next_step(rotated: &Rotated, engine: EngineKind) -> Option<String> {
    let others = "until then they cannot read any secret.";
    match (&rotated.next, engine, &rotated.key_file) {
        (NextStep::Nothing, EngineKind::Sqlite, _) => None,
        (NextStep::Nothing, EngineKind::Postgres, Some(file)) => {
            Some(format!("Copy {} to every other node of this database; {others}", file.display()))
        }
        (NextStep::Nothing, EngineKind::Postgres, None) => Some(format!(
            "Put the new key into the keyring of every other node of this database; {others}"
        )),
        (NextStep::PutInPlace(stand_in), EngineKind::Sqlite, _) => Some(stand_in.advice()),
        (NextStep::PutInPlace(stand_in), EngineKind::Postgres, _) => Some(format!(
            "{} Every other node of this database needs the new key, too; {others}",
            stand_in.advice()
        )),
        (NextStep::GivePassphrase, ..) => {
            let what =
                "Give the new passphrase wherever the old one is given, before the next start.";
            Some(what.to_owned())
        }
        (NextStep::GiveCommand, ..) => {
            Some("Set vault.key_command to the new command before the next start.".to_owned())
        }
    }
}

fn parse((scope, name): &(String, String)) -> Answer<SecretName> {
    let parsed = format!("{scope}/{name}").parse();
    parsed.map_err(|error: palyra_vault::SecretNameError| {
        Refusal::new(ErrorCode::CommonInvalidInput, error.to_string())
    })
}

fn actor(caller: &Caller) -> Actor {
    let origin = caller.origin().as_str().to_owned();
    let Access { principal, credential, .. } = caller.access.clone();
    Actor { by: principal, credential: Some(credential), origin }
}

fn secret(info: SecretInfo) -> Secret {
    let versions = info.versions.into_iter().map(|version| SecretVersion {
        version: version.version,
        created_at: version.created_at,
        created_by: version.created_by,
    });
    Secret {
        scope: info.name.scope().as_str().to_owned(),
        name: info.name.name().to_owned(),
        versions: versions.collect(),
    }
}
