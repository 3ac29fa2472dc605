//! Requests that never reach a handler, because their head cannot be read.
//!
//! hyper answers them with a bare status. People who meet one should learn the reason and what to
//! do, as with every other error, so its bare answer is exchanged for one of ours on its way out.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use palyra_common::{ErrorCode, StableErrorEnvelope};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream whose bare refusals are given a body.
pub(super) struct AnswerUnread<S> {
    stream: S,
    max_head_bytes: usize,
    /// What takes the place of the bare answer, and how much of it is written.
    instead: Option<(Vec<u8>, usize)>,
}

impl<S> AnswerUnread<S> {
    pub(super) fn new(stream: S, max_head_bytes: usize) -> Self {
        Self { stream, max_head_bytes, instead: None }
    }

    pub(super) fn into_inner(self) -> S {
        self.stream
    }

    /// Our answer, if `written` is a bare one.
    fn exchanged(&self, written: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(written).ok()?;
        let status = text.strip_prefix("HTTP/1.1 ")?.get(..3)?;
        if !text.contains("\r\ncontent-length: 0\r\n") {
            return None;
        }
        match status {
            "400" => Some(raw_answer(
                "400 Bad Request",
                ErrorCode::HttpMalformed,
                "the head of the request is not HTTP/1.1",
            )),
            "414" | "431" => Some(raw_answer(
                "431 Request Header Fields Too Large",
                ErrorCode::HttpTooLarge,
                &format!(
                    "the head of the request has more headers than http.max_headers or more \
                     bytes than http.max_header_bytes, {}",
                    self.max_head_bytes
                ),
            )),
            _ => None,
        }
    }
}

/// A whole answer, after which the connection ends.
pub(super) fn raw_answer(status: &str, code: ErrorCode, what: &str) -> Vec<u8> {
    let envelope = StableErrorEnvelope::new(code, what);
    let body = serde_json::to_string(&envelope).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

impl<S: AsyncWrite + Unpin> AsyncWrite for AnswerUnread<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.instead.is_none() {
            match self.exchanged(buf) {
                Some(answer) => self.instead = Some((answer, 0)),
                None => return Pin::new(&mut self.stream).poll_write(cx, buf),
            }
        }
        while let Some((answer, written)) = self.instead.take() {
            if written == answer.len() {
                break;
            }
            match Pin::new(&mut self.stream).poll_write(cx, &answer[written..]) {
                Poll::Ready(Ok(more)) => self.instead = Some((answer, written + more)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.instead = Some((answer, written));
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for AnswerUnread<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        Poll::Ready(Ok(()))
    }
}
