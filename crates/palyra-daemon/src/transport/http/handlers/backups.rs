use std::future::Future;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use palyra_common::api::{BACKUP_ID_HEADER, BackupMaking};
use palyra_common::runtime_contracts::Scope;
use palyra_common::{BackupId, ErrorCode};
use palyra_identity::AuthError;
use palyra_storage::backup::{self, Progress};
use palyra_storage::{describe, new_id};
use tokio::sync::{mpsc, watch};

use crate::app::App;
use crate::transport::http::body::PathOf;
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::{Answer, Refusal};

/// Pieces that may wait for a slow reader; the backup then waits too.
const WAITING_PIECES: usize = 8;

/// A backup as it is kept: a gzipped tar.
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "only its description is used")]
pub(crate) struct BackupFile(Vec<u8>);

/// How long a reader may take for one piece: until then retention waits on all nodes.
const READER_PATIENCE: Duration = Duration::from_secs(60);

/// How often it is looked whether the credential still counts: as soon as a revocation is to.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Makes a backup of the database and all blobs, and sends it as it is made
///
/// Not in it are palyra.toml, the files of agents in `workspaces`, and the master key of the vault.
///
/// If it fails on the way, or the credential ends, the connection breaks off, and the file lacks its
/// last entry; `/admin/v1/backups/{id}` then says why. The answer is the file itself, which is kept
/// nowhere else, so there is no Idempotency-Key: asked again, it makes another.
#[utoipa::path(post, path = "/admin/v1/backups", tag = "backups", responses(
    (status = 200, body = BackupFile, content_type = "application/gzip",
        headers(("palyra-backup-id" = BackupId, description = "Which backup this is")))))]
pub(crate) async fn create_backup(State(app): State<App>, caller: Caller) -> Answer<Response> {
    let caller = caller.allow(Scope::BackupsCreate)?;
    let Ok(one_at_a_time) = app.backing_up.clone().try_lock_owned() else {
        let what = "another backup is being made";
        return Err(Refusal::new(ErrorCode::HttpBusy, what));
    };
    crate::audit::record(&app, &caller.actor(), "backup.started").await?;
    let (pieces, body) = mpsc::channel::<io::Result<Bytes>>(WAITING_PIECES);
    let id = new_id();
    app.last_backup.store(Some(BackupMaking { id, ended: false, error: None }));
    let making = app.clone();
    tokio::spawn(async move {
        let _one_at_a_time = one_at_a_time;
        make(&making, id, pieces).await;
    });
    let may_go_on = move || {
        let (app, access) = (app.clone(), caller.access.clone());
        async move { app.identity.look_again(&access).await?.require(Scope::BackupsCreate) }
    };
    let head = [
        (header::CONTENT_TYPE, "application/gzip".to_owned()),
        (HeaderName::from_static(BACKUP_ID_HEADER), id.to_string()),
    ];
    Ok((head, Body::from_stream(pieces_while(body, LOOK_EVERY, may_go_on))).into_response())
}

/// What became of a backup that this node has made last, for whoever saw it break off
#[utoipa::path(get, path = "/admin/v1/backups/{id}", tag = "backups",
    params(("id" = BackupId, Path, description = "Which backup, by the head of its answer")),
    responses((status = 200, body = BackupMaking)))]
pub(crate) async fn show_backup(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<BackupId>,
) -> Answer<Json<BackupMaking>> {
    caller.allow(Scope::BackupsCreate)?;
    let last = app.last_backup.load();
    let asked = last.iter().find(|last| last.id == id).cloned();
    let what = || format!("backup {id} is not the last one that this node was asked for");
    asked.map(Json).ok_or_else(|| Refusal::new(ErrorCode::CommonNotFound, what()))
}

/// Makes the backup `id` and hands it over in pieces.
async fn make(app: &App, id: BackupId, pieces: mpsc::Sender<io::Result<Bytes>>) {
    let out = io::BufWriter::with_capacity(64 << 10, Pieces(pieces.clone()));
    let (progress, _) = watch::channel(Progress::default());
    let ended = |error| app.last_backup.store(Some(BackupMaking { id, ended: true, error }));
    match backup::create(&app.backup_source(), out, progress).await {
        Ok((made, _)) => {
            let (rows, blobs, missing) =
                (made.content.rows, made.content.blobs, made.missing.count);
            tracing::info!(rows, blobs, missing, "a backup was made");
            ended(None);
        }
        Err(error) => {
            let told = error.envelope();
            let (code, error) = (told.code(), told.message());
            tracing::error!(%code, error, "a backup failed");
            let broken = io::Error::other(error.to_owned());
            // Whoever sees it break off finds the reason.
            ended(Some(told));
            let _ = pieces.send(Err(broken)).await;
        }
    }
}

/// The pieces, for as long as whoever asked may have them: that can end before the backup does.
fn pieces_while<F: Future<Output = Result<(), AuthError>>>(
    body: mpsc::Receiver<io::Result<Bytes>>,
    look_every: Duration,
    may_go_on: impl Fn() -> F,
) -> impl Stream<Item = io::Result<Bytes>> {
    futures_util::stream::unfold((body, Instant::now(), may_go_on), move |state| async move {
        let (mut body, mut looked, may_go_on) = state;
        let mut piece = body.recv().await?;
        if looked.elapsed() >= look_every {
            if let Err(error) = may_go_on().await {
                let (code, error) = (error.code(), describe(&error));
                tracing::warn!(%code, error, "a backup was broken off");
                piece = Err(io::Error::other(error));
            }
            looked = Instant::now();
        }
        Some((piece, (body, looked, may_go_on)))
    })
}

/// Hands pieces over to the connection, and waits while it is busy.
struct Pieces(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "nobody reads the backup");
        let sending = self.0.send(Ok(Bytes::copy_from_slice(piece)));
        let sent = tokio::time::timeout(READER_PATIENCE, sending);
        let sent = tokio::runtime::Handle::current().block_on(sent);
        sent.map_err(|_| gone())?.map_err(|_| gone())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
