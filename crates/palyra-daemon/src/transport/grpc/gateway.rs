//! `palyra.gateway.v1`.

use palyra_common::runtime_contracts::Scope;
use palyra_identity::Access;
use tonic::{Request, Response, Status};

use super::auth::refused;
use super::proto::gateway::gateway_service_server::{GatewayService, GatewayServiceServer};
use super::proto::gateway::{GetHealthRequest, GetHealthResponse};
use crate::app::App;
use crate::ready;

pub(super) struct Gateway {
    app: App,
}

pub(super) type Server = GatewayServiceServer<Gateway>;

pub(super) fn service(app: App) -> Server {
    GatewayServiceServer::new(Gateway { app })
}

#[tonic::async_trait]
impl GatewayService for Gateway {
    async fn get_health(
        &self,
        request: Request<GetHealthRequest>,
    ) -> Result<Response<GetHealthResponse>, Status> {
        allow(&request, Scope::StatusRead)?;
        let readiness = ready::check(&self.app).await;
        Ok(Response::new(GetHealthResponse {
            ready: readiness.ready,
            waiting_for: readiness.waiting_for,
            version: env!("CARGO_PKG_VERSION").into(),
            node: self.app.db.incarnation().to_string(),
            started_at: self.app.started_at.as_unix_millis(),
        }))
    }
}

/// Refuses unless the caller has `scope`.
fn allow<T>(request: &Request<T>, scope: Scope) -> Result<(), Status> {
    let access = request.extensions().get::<Access>();
    let access = access.ok_or_else(|| Status::unauthenticated("no credential was checked"))?;
    access.require(scope).map_err(|error| refused(&error.envelope()))
}
