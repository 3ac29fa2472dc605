//! The threads behind a database.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use palyra_common::ids::IncarnationId;
use tokio::sync::{mpsc, watch};

use super::{DirectoryLock, Holding, OpenOptions, Queues};
use crate::StorageError;
use crate::engine::postgres::connect::Dial;
use crate::engine::postgres::doorbell::{Doorbell, Outgoing};
use crate::engine::postgres::worker::{Access, Worker};
use crate::engine::queue::SharedQueue;
use crate::engine::sqlite::connection::{open_first, open_reader};
use crate::engine::sqlite::readers::Reader;
use crate::engine::sqlite::statements::SqliteStatements;
use crate::engine::sqlite::writer::Writer;
use crate::engine::{postgres, sqlite};
use crate::notify::Bell;
use crate::store::leases;
use crate::tx::Tx;

/// How long opening waits until notices of other nodes are heard.
const LISTEN_WAIT: std::time::Duration = std::time::Duration::from_secs(5);

pub(super) struct Started {
    pub(super) queues: Queues,
    pub(super) threads: Vec<JoinHandle<()>>,
}

pub(super) fn sqlite(
    options: &OpenOptions,
    file: sqlite::SqliteFile,
    lock: DirectoryLock,
    bell: &Arc<Bell>,
) -> Result<Started, StorageError> {
    let connection = open_first(&file)?;
    sqlite::migrate::migrate(&connection, file.path(), options.migrations)?;
    let mut statements = SqliteStatements::new(&connection, file.path());
    leases::release_everything(&mut Tx::new(&mut statements))?;

    // Without it a database that goes astray is missed only by what else it leaves.
    let _ = lock.note_database();
    let holding = Holding::of(lock, file.path())?;
    let (queues, writes, reads) = queues(options);
    let mut readers = Vec::new();
    let reads = SharedQueue::new(reads);
    for _ in 0..options.config.readers {
        let connection = Some(open_reader(&file)?);
        let reader = Reader { file: file.clone(), connection, units: reads.clone() };
        readers.push(spawn("palyra-read", move || reader.run())?);
    }
    let (connection, bell) = (Some(connection), bell.clone());
    let writer = Writer { file, holding, connection, units: writes, bell, readers };
    let writing = spawn("palyra-write", move || writer.run())?;
    Ok(Started { queues, threads: vec![writing] })
}

pub(super) fn postgres(
    options: &OpenOptions,
    dial: &Dial,
    node: IncarnationId,
    bell: &Arc<Bell>,
    closed: watch::Receiver<bool>,
) -> Result<Started, StorageError> {
    let (queues, writes, reads) = queues(options);
    let outgoing = Arc::new(Outgoing::default());
    let mut threads = Vec::new();
    let pools = [
        (Access::Write, SharedQueue::new(writes), options.config.connections),
        (Access::Read, SharedQueue::new(reads), options.config.readers),
    ];
    for (access, units, connections) in pools {
        for _ in 0..connections {
            let worker = Worker {
                access,
                dial: dial.clone(),
                node,
                runtime: postgres::runtime()?,
                units: units.clone(),
                bell: bell.clone(),
                outgoing: outgoing.clone(),
                retry_for: options.config.retry_for.into(),
                link: None,
                away: None,
                closed: closed.clone(),
            };
            threads.push(spawn("palyra-postgres", move || worker.run())?);
        }
    }
    let (listening, heard) = std::sync::mpsc::channel();
    let (dial, bell, listening) = (dial.clone(), bell.clone(), Some(listening));
    let doorbell = Doorbell { dial, node, bell, outgoing, closed, listening };
    let bells = postgres::runtime()?;
    threads.push(spawn("palyra-notices", move || bells.block_on(doorbell.run()))?);
    // A node that cannot listen yet works all the same, only a little later.
    let _ = heard.recv_timeout(LISTEN_WAIT);
    Ok(Started { queues, threads })
}

type Incoming = mpsc::Receiver<Box<dyn crate::unit::UnitOfWork>>;

fn queues(options: &OpenOptions) -> (Queues, Incoming, Incoming) {
    let waiting = options.config.queue as usize;
    let (writes, incoming_writes) = mpsc::channel(waiting);
    let (reads, incoming_reads) = mpsc::channel(waiting);
    (Queues { writes, reads }, incoming_writes, incoming_reads)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StorageError> {
    Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| StorageError::Unavailable(Arc::new(error)))
}
