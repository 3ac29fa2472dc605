use palyra_gateway::Wish;
use tonic::Request;

use super::{
    AbortRunRequest, AbortRunResponse, GetRunRequest, GetRunResponse, ListRunsRequest,
    ListRunsResponse, Told, told,
};
use crate::actions::no_cursor;
use crate::actions::runs::{self, RunsOf};
use crate::app::App;
use crate::transport::grpc::decode::{caller, given, if_named, named, page_size};
use crate::transport::grpc::encode;
use crate::transport::http::Answer;

pub(super) async fn list(app: &App, request: Request<ListRunsRequest>) -> Told<ListRunsResponse> {
    let (caller, asked) = (caller(&request)?, request.into_inner());
    let list = async || -> Answer<ListRunsResponse> {
        let cursor = given(&asked.cursor).map(|cursor| cursor.parse().map_err(|_| no_cursor()));
        let of = RunsOf {
            session: if_named("session_id", &asked.session_id)?,
            phase: if_named("phase", &asked.phase)?,
            after: cursor.transpose()?,
            limit: page_size(asked.page_size),
        };
        let page = runs::list(app, &caller, of).await?;
        let runs = page.items.into_iter().map(encode::run).collect();
        Ok(ListRunsResponse { runs, next_cursor: page.next.unwrap_or_default() })
    };
    told(list().await)
}

pub(super) async fn get(app: &App, request: Request<GetRunRequest>) -> Told<GetRunResponse> {
    let (caller, asked) = (caller(&request)?, request.into_inner());
    let get = async || -> Answer<GetRunResponse> {
        let run = runs::get(app, &caller, named("run_id", &asked.run_id)?).await?;
        Ok(GetRunResponse { run: Some(encode::run(run)) })
    };
    told(get().await)
}

pub(super) async fn abort(app: &App, request: Request<AbortRunRequest>) -> Told<AbortRunResponse> {
    let (caller, asked) = (caller(&request)?, request.into_inner());
    let abort = async || -> Answer<AbortRunResponse> {
        let id = named("run_id", &asked.run_id)?;
        let run = runs::wish(app, &caller, id, Wish::Abort).await?;
        Ok(AbortRunResponse { run: Some(encode::run(run)) })
    };
    told(abort().await)
}
