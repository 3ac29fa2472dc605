//! A server on loopback that says exactly what a test wants it to say.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// What a connection is to a script: something to read from and to write to.
pub(crate) trait Connection: Read + Write {}
impl<T: Read + Write> Connection for T {}

type Script = Arc<dyn Fn(&Asked, &mut dyn Connection) + Send + Sync>;

/// What is done with a new connection before anything is read, such as TLS.
type Greeting = Arc<dyn Fn(TcpStream) -> Option<Box<dyn Connection>> + Send + Sync>;

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }
}

/// Counts who connects, keeps what they ask, and answers by its script. It ends when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<Asked>>>,
    stopping: Arc<AtomicBool>,
}

impl Server {
    /// Runs `script` for the one request of each connection.
    pub(crate) fn start(
        script: impl Fn(&Asked, &mut dyn Connection) + Send + Sync + 'static,
    ) -> Self {
        Self::greeting(Arc::new(|stream| Some(Box::new(stream))), script)
    }

    /// Gives every request the same answer.
    pub(crate) fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_, out| drop(out.write_all(&answer)))
    }

    pub(crate) fn greeting(
        greeting: Greeting,
        script: impl Fn(&Asked, &mut dyn Connection) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            asked: Arc::default(),
            stopping: Arc::default(),
        };
        let script: Script = Arc::new(script);
        let (count, asked) = (Arc::clone(&server.connections), Arc::clone(&server.asked));
        let stopping = Arc::clone(&server.stopping);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stopping.load(Ordering::SeqCst) {
                    return;
                }
                count.fetch_add(1, Ordering::SeqCst);
                let (script, asked) = (Arc::clone(&script), Arc::clone(&asked));
                let greeting = Arc::clone(&greeting);
                thread::spawn(move || serve(stream, &greeting, &script, &asked));
            }
        });
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The requests so far, in the order in which they were read.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the one that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: TcpStream, greeting: &Greeting, script: &Script, asked: &Mutex<Vec<Asked>>) {
    let Some(mut connection) = greeting(stream) else { return };
    let Some(request) = read(&mut *connection) else { return };
    asked.lock().unwrap().push(request.clone());
    script(&request, &mut *connection);
    let _ = connection.flush();
}

fn read(connection: &mut dyn Connection) -> Option<Asked> {
    let mut reader = BufReader::with_capacity(1, connection);
    let mut asked = Asked { line: line(&mut reader)?, ..Asked::default() };
    loop {
        let line = line(&mut reader)?;
        let Some((name, value)) = line.split_once(": ") else { break };
        asked.headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = asked.header("content-length").map_or(0, |length| length.parse().unwrap());
    asked.body = vec![0; length];
    reader.read_exact(&mut asked.body).ok()?;
    Some(asked)
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let bytes = reader.read_line(&mut line).ok()?;
    (bytes > 0).then(|| line.trim_end().to_owned())
}

/// An answer with a body and its length.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

pub(crate) fn redirect(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Elsewhere\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
}

/// Says nothing until the other side has had enough.
pub(crate) fn wait_for_the_end(connection: &mut dyn Connection) {
    let _ = connection.read_to_end(&mut Vec::new());
}
