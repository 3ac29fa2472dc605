//! Accepting connections, and letting them end.

use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::connection::{Connection, ConnectionOptions};
use super::door::Door;
use crate::transport::room::{Place, Room};

/// How long to wait after a connection could not be accepted, as when files run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The two doors.
pub(crate) struct Listeners {
    pub(crate) tcp: TcpListener,
    pub(crate) local: UnixListener,
}

pub(crate) struct Server {
    pub(crate) router: Router,
    pub(crate) connection: ConnectionOptions,
    pub(crate) max_connections: usize,
    pub(crate) max_local_connections: usize,
    /// How long connections may go on after the stop.
    pub(crate) drain: Duration,
}

impl Server {
    /// Serves until `stop` says true, then lets requests under way end.
    pub(crate) async fn run(self, listeners: Listeners, stop: watch::Receiver<bool>) {
        let mut stopped = stop.clone();
        let room = Room::new("HTTP", "http.max_connections", self.max_connections);
        let (option, places) = ("http.max_local_connections", self.max_local_connections);
        let local_room = Room::new("local socket", option, places);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = accept_tcp(&listeners.tcp, &room) => {
                    let Some((place, stream, door)) = accepted else { continue };
                    let connection = self.connection(door, stop.clone(), place);
                    connections.spawn(connection.serve(stream));
                }
                accepted = accept_local(&listeners.local, &local_room) => {
                    let Some((place, stream)) = accepted else { continue };
                    let connection = self.connection(Door::Local, stop.clone(), place);
                    connections.spawn(connection.serve(stream));
                }
                Some(_) = connections.join_next() => {}
                _ = stopped.wait_for(|stop| *stop) => break,
            }
        }
        drop(listeners);
        let drained = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(self.drain, drained).await.is_err() {
            tracing::warn!(left = connections.len(), "requests under way were cut off");
        }
        connections.shutdown().await;
    }

    fn connection(&self, door: Door, stop: watch::Receiver<bool>, place: Place) -> Connection {
        let (router, options) = (self.router.clone(), self.connection);
        Connection { router, options, door, stop, place }
    }
}

/// The next connection, once there is room for one.
async fn accept_tcp(listener: &TcpListener, room: &Room) -> Option<(Place, TcpStream, Door)> {
    let place = room.enter().await?;
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Small answers are not held back; without it they are only slower.
            let _ = stream.set_nodelay(true);
            Some((place, stream, Door::Tcp(peer)))
        }
        Err(error) => {
            not_accepted(&error).await;
            None
        }
    }
}

async fn accept_local(listener: &UnixListener, room: &Room) -> Option<(Place, UnixStream)> {
    let place = room.enter().await?;
    match listener.accept().await {
        Ok((stream, _)) => is_own_user(&stream).then_some((place, stream)),
        Err(error) => {
            not_accepted(&error).await;
            None
        }
    }
}

fn is_own_user(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == own => true,
        Ok(peer) => {
            tracing::warn!(uid = peer.uid(), "another user was turned away from the local socket");
            false
        }
        Err(error) => {
            tracing::warn!(%error, "the user of a local connection could not be learnt");
            false
        }
    }
}

async fn not_accepted(error: &std::io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(ACCEPT_PAUSE).await;
}
