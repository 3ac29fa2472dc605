use tonic::Request;

use super::{
    GetSessionRequest, GetSessionResponse, ListSessionsRequest, ListSessionsResponse, Told, told,
};
use crate::actions::sessions;
use crate::app::App;
use crate::transport::grpc::decode::{caller, given, named, page_size};
use crate::transport::grpc::encode;
use crate::transport::http::{Answer, Caller};

pub(super) async fn list(
    app: &App,
    request: Request<ListSessionsRequest>,
) -> Told<ListSessionsResponse> {
    let (caller, asked) = (caller(&request)?, request.into_inner());
    let list = async || -> Answer<ListSessionsResponse> {
        let (cursor, size) = (given(&asked.cursor), page_size(asked.page_size));
        let page = sessions::list(app, &caller, cursor, size).await?;
        let sessions = page.items.into_iter().map(encode::session).collect();
        Ok(ListSessionsResponse { sessions, next_cursor: page.next.unwrap_or_default() })
    };
    told(list().await)
}

pub(super) async fn get(
    app: &App,
    request: Request<GetSessionRequest>,
) -> Told<GetSessionResponse> {
    let (caller, asked) = (caller(&request)?, request.into_inner());
    told(one(app, &caller, &asked.session_id).await)
}

async fn one(app: &App, caller: &Caller, id: &str) -> Answer<GetSessionResponse> {
    let session = sessions::get(app, caller, named("session_id", id)?).await?;
    Ok(GetSessionResponse { session: Some(encode::session(session)) })
}
