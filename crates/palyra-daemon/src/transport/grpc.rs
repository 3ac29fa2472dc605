//! The gRPC API.

mod auth;
mod gateway;
mod health;
mod incoming;

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
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()?;
    let limits = app.config();
    let largest = limits.grpc.max_message_bytes as usize;
    let health_service = health_service.max_decoding_message_size(health::LARGEST);
    let reflection = reflection.max_decoding_message_size(largest);
    let gateway = gateway::service(app.clone()).max_decoding_message_size(largest);
    let told = health::begin(&reporter, &app).await;
    let following = tokio::spawn(health::follow(reporter, app.clone(), told, stop.clone()));
    let routes = Routes::new(health_service).add_service(reflection).add_service(gateway).prepare();
    let (drain, stopping) = (limits.http.drain_timeout, stop.clone());
    let stopped = async move {
        let _ = stop.wait_for(|stop| *stop).await;
    };
    let patience = std::time::Duration::from(limits.http.request_timeout);
    let incoming = incoming::incoming(listener, limits.http.max_connections as usize, patience);
    let served = tonic::transport::Server::builder()
        .timeout(patience)
        // A connection on which nothing happens ends with this; calls under way go on for as long as
        // any call may take.
        .max_connection_age(limits.grpc.max_connection_age.into())
        .max_connection_age_grace(patience)
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
