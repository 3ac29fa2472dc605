//! HTTP/1.1 as far as clients of S3 need it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::store::{Answer, Reply, Store};

const MAX_HEAD: u64 = 64 << 10;
const MAX_BODY: u64 = 64 << 20;
/// A client that is silent for this long has gone.
const SILENCE: Duration = Duration::from_secs(60);

/// What a client asks.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// Path and query as they came.
    pub(super) target: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// The value of a header whose name is given in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The headers, as an error repeats them.
    pub(super) fn headers(&self) -> String {
        self.headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect()
    }
}

/// Answers requests until the client closes or is cut off.
pub(super) fn run(client: &TcpStream, store: &Store) -> io::Result<()> {
    client.set_read_timeout(Some(SILENCE))?;
    client.set_nodelay(true)?;
    let mut source = BufReader::new(client);
    while let Some(request) = read_request(&mut source)? {
        match store.answer(&request) {
            Reply::Answer(answer) => write_answer(client, &request, &answer)?,
            Reply::Cut => break,
        }
    }
    Ok(())
}

fn read_request(source: &mut BufReader<&TcpStream>) -> io::Result<Option<Request>> {
    let mut head = source.take(MAX_HEAD);
    let mut line = String::new();
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_ascii_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(broken("a request begins with method and target"));
    };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        head.read_line(&mut line)?;
        if !line.ends_with('\n') {
            return Err(broken("the head is cut off or too long"));
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, target, headers, body: Vec::new() };
    let length = match request.header("content-length").map(str::parse) {
        Some(Ok(length)) if length <= MAX_BODY => length,
        Some(_) => return Err(broken("the body is too long")),
        None => 0,
    };
    source.take(length).read_to_end(&mut request.body)?;
    if request.body.len() as u64 == length {
        Ok(Some(request))
    } else {
        Err(broken("the body is cut off"))
    }
}

fn write_answer(mut client: &TcpStream, request: &Request, answer: &Answer) -> io::Result<()> {
    let mut message = format!("HTTP/1.1 {} -\r\n", answer.status);
    for (name, value) in &answer.headers {
        message.push_str(&format!("{name}: {value}\r\n"));
    }
    message.push_str(&format!("content-length: {}\r\n\r\n", answer.body.len()));
    let mut message = message.into_bytes();
    if request.method != "HEAD" {
        message.extend_from_slice(&answer.body);
    }
    client.write_all(&message)
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
