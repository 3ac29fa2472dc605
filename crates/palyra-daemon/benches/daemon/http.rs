//! An authenticated request through everything that stands before a handler, with all limits as they
//! are by default.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use palyra_testkit::figures::{Goal, in_turns, report};
use palyra_testkit::process::Process;

use crate::bare::Bare;
use crate::daemon::Daemon;
use crate::load;
use crate::proc::cpu_time;

const TURNS: usize = 9;
const SPAN: Duration = Duration::from_millis(1_000);

pub(crate) fn run(daemon: &Daemon, tokens: &[String], bare: &Bare) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let requests = |at: SocketAddr| -> Vec<Vec<u8>> {
        let head = format!("GET /admin/v1/status HTTP/1.1\r\nHost: {at}");
        let with = |token| format!("{head}\r\nAuthorization: Bearer {token}\r\n\r\n").into_bytes();
        tokens.iter().map(with).collect()
    };
    // CPU time of the server per request, in µs: what the load itself takes does not blur it.
    let costs = RefCell::new((Vec::new(), Vec::new()));
    let turn = |process: &Process, at: SocketAddr| {
        let (before, begun) = (cpu_time(process), Instant::now());
        let count = runtime.block_on(load::answered(at, &requests(at), SPAN)) as f64;
        let took = begun.elapsed().as_secs_f64();
        let cost = (cpu_time(process) - before).as_secs_f64() * 1_000_000.0 / count;
        (count / took, cost)
    };
    let measured = in_turns(
        TURNS,
        || {
            let (rate, cost) = turn(&daemon.process, daemon.http);
            costs.borrow_mut().0.push(cost);
            rate
        },
        || {
            let (rate, cost) = turn(&bare.process, bare.http);
            costs.borrow_mut().1.push(cost);
            rate
        },
    );
    report("http.status_ratio", "requests/s", measured, Some(Goal::AtLeast(0.4)));
    let (ours, theirs) = costs.into_inner();
    let (mut ours, mut theirs) = (ours.into_iter(), theirs.into_iter());
    let measured = in_turns(
        TURNS,
        || ours.next().expect("a cost for every turn"),
        || theirs.next().expect("a cost for every turn"),
    );
    report("http.status_cpu_us", "µs/request", measured, None);
}
