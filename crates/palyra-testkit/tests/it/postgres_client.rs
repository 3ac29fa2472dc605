//! A Postgres client of the smallest kind, because the testkit has no driver.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use palyra_testkit::postgres::{CutProxy, TestDatabase};

pub(crate) struct Client {
    stream: UnixStream,
    /// Process id and secret, as a cancellation has to repeat them.
    key: Vec<u8>,
}

/// A packet of the server: type and body.
pub(crate) type Answer = (u8, Vec<u8>);

impl Client {
    pub(crate) fn connect(proxy: &CutProxy, database: &TestDatabase) -> io::Result<Self> {
        let mut client = Self { stream: socket(proxy.socket_dir(), proxy.port())?, key: vec![] };
        // As clients do that prefer encryption.
        client.stream.write_all(&opening(80_877_103, b""))?;
        let mut refusal = [0];
        client.stream.read_exact(&mut refusal)?;
        assert_eq!(&refusal, b"N");
        let session = format!("user\0palyra\0database\0{}\0\0", database.name());
        client.stream.write_all(&opening(3 << 16, session.as_bytes()))?;
        let answers = client.answers()?;
        client.key = answers.into_iter().find(|(kind, _)| *kind == b'K').unwrap().1;
        Ok(client)
    }

    /// Sends packets in one write, without waiting.
    pub(crate) fn send(&mut self, packets: &[Vec<u8>]) -> io::Result<()> {
        self.stream.write_all(&packets.concat())
    }

    /// Reads the answers up to and without the next `ReadyForQuery`.
    pub(crate) fn answers(&mut self) -> io::Result<Vec<Answer>> {
        let mut answers = Vec::new();
        loop {
            let mut head = [0; 5];
            self.stream.read_exact(&mut head)?;
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let mut body = vec![0; length - 4];
            self.stream.read_exact(&mut body)?;
            if head[0] == b'Z' {
                return Ok(answers);
            }
            answers.push((head[0], body));
        }
    }

    /// Runs SQL as a simple query and returns the last command's tag, or the error.
    pub(crate) fn simple(&mut self, sql: &str) -> io::Result<String> {
        self.send(&[query(sql)])?;
        self.tag()
    }

    /// Runs SQL as an unnamed prepared statement.
    pub(crate) fn extended(&mut self, sql: &str) -> io::Result<String> {
        let parse = packet(b'P', &[b"\0", sql.as_bytes(), b"\0\0\0"].concat());
        self.send(&[parse, bind(""), execute(), sync()])?;
        self.tag()
    }

    /// Asks the server to cancel what this client's session is doing, and waits until it has.
    pub(crate) fn cancel(proxy: &CutProxy, key: &[u8]) -> io::Result<()> {
        let mut stream = socket(proxy.socket_dir(), proxy.port())?;
        stream.write_all(&opening(80_877_102, key))?;
        assert_eq!(stream.read(&mut [0])?, 0);
        Ok(())
    }

    pub(crate) fn key(&self) -> Vec<u8> {
        self.key.clone()
    }

    fn tag(&mut self) -> io::Result<String> {
        let answers = self.answers()?;
        let last = answers.into_iter().rfind(|(kind, _)| matches!(kind, b'C' | b'E')).unwrap();
        Ok(String::from_utf8(last.1).unwrap().replace('\0', " ").trim().to_owned())
    }
}

pub(crate) fn query(sql: &str) -> Vec<u8> {
    packet(b'Q', &[sql.as_bytes(), b"\0"].concat())
}

pub(crate) fn prepare(name: &str, sql: &str) -> Vec<u8> {
    packet(b'P', format!("{name}\0{sql}\0\0\0").as_bytes())
}

pub(crate) fn bind(name: &str) -> Vec<u8> {
    packet(b'B', format!("\0{name}\0\0\0\0\0\0\0").as_bytes())
}

pub(crate) fn execute() -> Vec<u8> {
    packet(b'E', b"\0\0\0\0\0")
}

pub(crate) fn sync() -> Vec<u8> {
    packet(b'S', b"")
}

fn packet(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[kind], &length.to_be_bytes()[..], body].concat()
}

fn opening(code: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 8).unwrap();
    [&length.to_be_bytes()[..], &code.to_be_bytes(), body].concat()
}

fn socket(dir: &Path, port: u16) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(dir.join(format!(".s.PGSQL.{port}")))?;
    stream.set_read_timeout(Some(crate::world::LONG))?;
    Ok(stream)
}
