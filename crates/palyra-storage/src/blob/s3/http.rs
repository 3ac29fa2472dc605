//! How S3 is spoken to: within limits, straight to the endpoint, and with an ear that forgets
//! what was said about secrets.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use reqwest::{Client, StatusCode, redirect};

use crate::blob::place::Reach;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of an error's text is looked at.
const ERROR_TEXT: usize = 16 << 10;

/// Makes the client that requests go through.
#[derive(Debug)]
pub(super) struct Connector {
    reach: Reach,
}

impl Connector {
    pub(super) fn new(reach: Reach) -> Self {
        Self { reach }
    }

    fn client(&self) -> reqwest::Result<Client> {
        // The client asks for the provider of the process and panics without one. Whoever has
        // chosen before us has chosen.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .user_agent("palyra")
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            .http1_only()
            // A redirect would carry the session token to wherever it points.
            .redirect(redirect::Policy::none())
            // The length that is announced is to be the length of the object.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate();
        match self.reach {
            Reach::Network => builder.https_only(true),
            // A proxy would take elsewhere what is to stay on this machine.
            Reach::Loopback => builder.https_only(true).no_proxy(),
            // Works also where no root certificates are installed.
            Reach::PlainLoopback => builder.no_proxy().tls_certs_only([]),
        }
        .build()
    }
}

impl HttpConnector for Connector {
    /// The options are ours already.
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let failed = |error: reqwest::Error| object_store::Error::Generic {
            store: "S3",
            source: error.into(),
        };
        Ok(HttpClient::new(Discreet(self.client().map_err(failed)?)))
    }
}

/// Keeps of a refusal its code only. The rest can repeat the request with its session token, and
/// would end up in messages and logs.
#[derive(Debug)]
struct Discreet(Client);

impl HttpService for Discreet {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> BoxFuture<'b, Result<HttpResponse, HttpError>>
    where
        'a: 'b,
    {
        async move {
            let answer = self.0.call(request).await?;
            if answer.status().is_success() {
                return Ok(answer);
            }
            let (mut parts, body) = answer.into_parts();
            let code = error_code(&beginning(body).await).to_owned();
            parts.status = meaning(parts.status, &code);
            Ok(HttpResponse::from_parts(parts, code.into()))
        }
        .boxed()
    }
}

/// The text of an error, as far as it came.
async fn beginning(body: HttpResponseBody) -> String {
    let mut text = Vec::new();
    let mut pieces = body.bytes_stream();
    while let Some(Ok(piece)) = pieces.next().await {
        text.extend_from_slice(&piece);
        if text.len() >= ERROR_TEXT {
            text.truncate(ERROR_TEXT);
            break;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The code in `<Error><Code>…</Code>…</Error>`; empty if there is none.
fn error_code(text: &str) -> &str {
    let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    match code {
        Some((code, _)) if code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphanumeric()) => {
            code
        }
        Some(_) | None => "",
    }
}

/// The status that says to `object_store` what S3 means by code and status together.
fn meaning(status: StatusCode, code: &str) -> StatusCode {
    match (status, code) {
        // Everything would look damaged, or deleted already, if this counted as a missing object.
        (StatusCode::NOT_FOUND, "NoSuchBucket") => StatusCode::MISDIRECTED_REQUEST,
        (StatusCode::BAD_REQUEST, "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired") => {
            StatusCode::UNAUTHORIZED
        }
        (status, _) => status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It panics where no provider of TLS is chosen.
    #[test]
    fn a_client_can_be_made_more_than_once() {
        for reach in [Reach::PlainLoopback, Reach::Network, Reach::Loopback] {
            let made = Connector::new(reach).client();
            assert!(made.is_ok(), "{reach:?}: {made:?}");
        }
    }

    #[test]
    fn only_a_code_is_kept() {
        for (text, code) in [
            ("<Error><Code>SlowDown</Code><Message>x</Message></Error>", "SlowDown"),
            ("<Error><Token-0>geheim</Token-0><Code>ExpiredToken</Code></Error>", "ExpiredToken"),
            ("<Code>a geheim b</Code>", ""),
            ("<Code>geheim", ""),
            ("<html>geheim</html>", ""),
            ("", ""),
        ] {
            assert_eq!(error_code(text), code, "{text}");
        }
        assert_eq!(error_code(&format!("<Code>{}</Code>", "x".repeat(65))), "");
    }

    #[test]
    fn codes_that_say_more_than_the_status_win() {
        for (status, code, meant) in [
            (404, "NoSuchBucket", 421),
            (404, "NoSuchKey", 404),
            (404, "", 404),
            (400, "ExpiredToken", 401),
            (400, "InvalidToken", 401),
            (400, "InvalidArgument", 400),
            (403, "AccessDenied", 403),
            (503, "SlowDown", 503),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(meaning(status, code).as_u16(), meant, "{status} {code}");
        }
    }
}
