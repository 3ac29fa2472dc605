//! The gRPC API.

mod auth;
mod decode;
mod encode;
mod gateway;
mod health;
mod incoming;
mod refused;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::service::Routes;

use crate::app::App;

/// What is made of `schemas/proto`.
mod proto {
    /// `palyra.gateway.v1`.
    pub(super) mod gateway {
        #![allow(clippy::all, unreachable_pub, unused_qualifications, reason = "generated")]
        tonic::include_proto!("palyra.gateway.v1");
    }

    /// All descriptions, for reflection.
    pub(super) const DESCRIPTORS: &[u8] = tonic::include_file_descriptor_set!("palyra");
}

/// Serves until `stop` says true, then lets calls under way end.
pub(crate) async fn serve(
    app: App,
    listener: TcpListener,
    mut stop: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let (reporter, health_service) = tonic_health::server::health_reporter();
    let described = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    // Some clients know only the version before the last.
    let (reflection, older) = (described().build_v1()?, described().build_v1alpha()?);
    let limits = app.config();
    let largest = limits.grpc.max_message_bytes as usize;
    let health_service = health_service.max_decoding_message_size(health::LARGEST);
    let reflection = reflection.max_decoding_message_size(largest);
    let older = older.max_decoding_message_size(largest);
    let gateway = gateway::service(app.clone(), stop.clone()).max_decoding_message_size(largest);
    let told = health::begin(&reporter, &app).await;
    let following = tokio::spawn(health::follow(reporter, app.clone(), told, stop.clone()));
    let routes = Routes::new(health_service)
        .add_service(reflection)
        .add_service(older)
        .add_service(gateway)
        .prepare();
    let (drain, stopping) = (limits.http.drain_timeout, stop.clone());
    let stopped = async move {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let patience = std::time::Duration::from(limits.http.request_timeout);
    let ages = incoming::Ages { age: limits.grpc.max_connection_age.into(), patience };
    let incoming = incoming::incoming(listener, limits.http.max_connections as usize, ages);
    let served = tonic::transport::Server::builder()
        // A connection on which nothing happens ends with this, and clients make new calls on another
        // one. `incoming` ends those with calls that go on for longer than any may, but for streams of
        // runs.
        .max_connection_age(ages.age)
        .http2_keepalive_interval(Some(patience))
        .http2_keepalive_timeout(Some(patience))
        .http2_max_header_list_size(limits.http.max_header_bytes)
        .concurrency_limit_per_connection(limits.grpc.max_streams as usize)
        .max_concurrent_streams(limits.grpc.max_streams)
        .layer(auth::AuthLayer::new(app))
        .add_routes(routes)
        .serve_with_incoming_shutdown(incoming, stopped);
    let ended = tokio::select! {
        served = served => Ok(served?),
        () = too_late(stopping, drain.into()) => {
            tracing::warn!("gRPC calls under way were cut off");
            Ok(())
        }
    };
    following.abort();
    ended
}

/// Returns when the stop was asked for longer ago than calls may go on.
async fn too_late(mut stop: watch::Receiver<bool>, drain: std::time::Duration) {
    let _ = stop.wait_for(|stop| *stop).await;
    tokio::time::sleep(drain).await;
}
