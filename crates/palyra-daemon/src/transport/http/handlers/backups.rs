use std::future::Future;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use palyra_common::ErrorCode;
use palyra_common::runtime_contracts::Scope;
use palyra_identity::AuthError;
use palyra_storage::backup::{self, Progress};
use palyra_storage::describe;
use tokio::sync::{mpsc, watch};

use crate::app::App;
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

/// Makes a backup of everything but the master key, and sends it as it is made
///
/// If it fails on the way, or the credential ends, the connection breaks off, and the file lacks its
/// last entry. The answer
/// is the file itself, which is kept nowhere else, so there is no Idempotency-Key: asked again, it
/// makes another.
#[utoipa::path(post, path = "/admin/v1/backups", tag = "backups", responses(
    (status = 200, body = BackupFile, content_type = "application/gzip")))]
pub(crate) async fn create_backup(State(app): State<App>, caller: Caller) -> Answer<Response> {
    let caller = caller.allow(Scope::BackupsCreate)?;
    let Ok(one_at_a_time) = app.backing_up.clone().try_lock_owned() else {
        let what = "another backup is being made";
        return Err(Refusal::new(ErrorCode::HttpBusy, what));
    };
    crate::audit::record(&app, &caller.actor(), "backup.started").await?;
    let (pieces, body) = mpsc::channel::<io::Result<Bytes>>(WAITING_PIECES);
    let source = app.backup_source();
    tokio::spawn(async move {
        let _one_at_a_time = one_at_a_time;
        let out = io::BufWriter::with_capacity(64 << 10, Pieces(pieces.clone()));
        let (progress, _) = watch::channel(Progress::default());
        match backup::create(&source, out, progress).await {
            Ok((made, _)) => {
                let missing = made.missing.count;
                tracing::info!(
                    rows = made.content.rows,
                    blobs = made.content.blobs,
                    missing,
                    "a backup was made"
                );
            }
            Err(error) => {
                let (code, error) = (error.code(), describe(&error));
                tracing::error!(%code, error, "a backup failed");
                // Whoever reads learns by the break that it is not whole.
                let _ = pieces.send(Err(io::Error::other(error))).await;
            }
        }
    });
    let may_go_on = move || {
        let (app, access) = (app.clone(), caller.access.clone());
        async move { app.identity.look_again(&access).await?.require(Scope::BackupsCreate) }
    };
    let kind = [(header::CONTENT_TYPE, "application/gzip")];
    Ok((kind, Body::from_stream(pieces_while(body, LOOK_EVERY, may_go_on))).into_response())
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
