//! Many clients that ask again as soon as they are answered.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::daemon::LIMIT;

const CONNECTIONS: usize = 8;

/// How many requests were answered within `span`, over kept connections without pipelining. Each
/// connection has its share of `requests`, and makes one after the other.
pub(crate) async fn answered(at: SocketAddr, requests: &[Vec<u8>], span: Duration) -> usize {
    let shares = requests.chunks(requests.len().div_ceil(CONNECTIONS));
    let clients = shares.map(|share| tokio::spawn(client(at, share.to_vec(), span)));
    let mut count = 0;
    for client in clients.collect::<Vec<_>>() {
        count += tokio::time::timeout(span + LIMIT, client).await.unwrap().unwrap();
    }
    count
}

async fn client(at: SocketAddr, requests: Vec<Vec<u8>>, span: Duration) -> usize {
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut buffer = vec![0u8; 16 * 1_024];
    let deadline = Instant::now() + span;
    let mut count = 0;
    for request in requests.iter().cycle() {
        if Instant::now() >= deadline {
            break;
        }
        stream.write_all(request).await.unwrap();
        read_answer(&mut stream, &mut buffer).await;
        count += 1;
    }
    count
}

async fn read_answer(stream: &mut TcpStream, buffer: &mut [u8]) {
    let mut filled = 0;
    let mut whole = None;
    while whole.is_none_or(|whole| filled < whole) {
        let read = stream.read(&mut buffer[filled..]).await.unwrap();
        assert!(read > 0, "the connection ended, or an answer is too large");
        filled += read;
        whole = whole.or_else(|| length(&buffer[..filled]));
    }
    assert_eq!(whole, Some(filled), "more than the answer");
    assert!(buffer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(buffer));
}

/// Of the whole answer, once its head is there.
fn length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|end| end == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&bytes[..head]).unwrap();
    let body = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    Some(head + 4 + body.parse::<usize>().unwrap())
}
