//! Load on one server: many connections on this one thread, each with one request in flight.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use super::client::{Client, Post};
use crate::failure::{Context, Failure, Result};

/// What one round saw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Answers.
    pub(crate) requests: u32,
    /// Answers a second.
    pub(crate) per_second: f64,
    /// The median of the times from request to answer, in microseconds.
    pub(crate) p50_us: f64,
}

/// Connections to one server, each with its own session.
#[derive(Debug)]
pub(crate) struct Callers(Vec<Caller>);

#[derive(Debug)]
struct Caller {
    client: Client,
    call: Post,
    expected: Vec<u8>,
}

impl Callers {
    /// Connects, opens a session on each connection (or invents one where the server has none) and calls once.
    pub(crate) async fn connect(server: SocketAddr, count: usize, with_sessions: bool) -> Result<Self> {
        let mut callers = Vec::with_capacity(count);
        for _ in 0..count {
            let mut client = Client::connect(server).await?;
            let session = if with_sessions {
                client.create_session().await?
            } else {
                // As long as a real one.
                "00000000-0000-4000-8000-000000000000".to_owned()
            };
            let call = Post::echo(&session);
            let expected = client.post(&call).await?.to_vec();
            callers.push(Caller { client, call, expected });
        }
        Ok(Self(callers))
    }

    /// What the first one was answered.
    pub(crate) fn answer(&self) -> &[u8] {
        self.0.first().map_or(&[], |caller| &caller.expected)
    }

    /// Calls on all connections for a while.
    pub(crate) async fn drive(&mut self, lasting: Duration) -> Result<Seen> {
        let mut tasks = JoinSet::new();
        let begun = Instant::now();
        for caller in self.0.drain(..) {
            tasks.spawn(caller.call_until(begun + lasting));
        }
        let mut times = Vec::new();
        while let Some(done) = tasks.join_next().await {
            let (caller, mut its_times) = done.context("a caller")??;
            self.0.push(caller);
            times.append(&mut its_times);
        }
        Seen::of(&mut times, begun.elapsed())
    }
}

impl Caller {
    async fn call_until(mut self, end: Instant) -> Result<(Self, Vec<u32>)> {
        let mut times = Vec::with_capacity(16 * 1024);
        let mut last = Instant::now();
        while last < end {
            if self.client.post(&self.call).await? != self.expected {
                return Err(Failure::new("the same call was answered differently"));
            }
            let now = Instant::now();
            times.push(nanoseconds(now - last));
            last = now;
        }
        Ok((self, times))
    }
}

/// Opens and closes sessions on `connections` connections for a while; each pair is two requests.
pub(crate) async fn churn(server: SocketAddr, connections: usize, lasting: Duration) -> Result<Seen> {
    let mut tasks: JoinSet<Result<Vec<u32>>> = JoinSet::new();
    let mut clients = Vec::new();
    for _ in 0..connections {
        clients.push(Client::connect(server).await?);
    }
    let begun = Instant::now();
    for mut client in clients {
        tasks.spawn(async move {
            let mut times = Vec::new();
            while begun.elapsed() < lasting {
                let (opening, session) = (Instant::now(), client.create_session().await?);
                let closing = Instant::now();
                client.close_session(&session).await?;
                times.push(nanoseconds(closing - opening));
                times.push(nanoseconds(closing.elapsed()));
            }
            Ok(times)
        });
    }
    let mut times = Vec::new();
    while let Some(done) = tasks.join_next().await {
        times.append(&mut done.context("a client")??);
    }
    Seen::of(&mut times, begun.elapsed())
}

/// Opens `count` sessions over a few connections and hangs up.
pub(crate) async fn open_sessions(server: SocketAddr, count: usize) -> Result {
    const CONNECTIONS: usize = 16;
    let mut tasks: JoinSet<Result> = JoinSet::new();
    for connection in 0..CONNECTIONS {
        tasks.spawn(async move {
            let mut client = Client::connect(server).await?;
            for _ in (connection..count).step_by(CONNECTIONS) {
                client.create_session().await?;
            }
            Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.context("a client")??;
    }
    Ok(())
}

impl Seen {
    fn of(times: &mut [u32], took: Duration) -> Result<Self> {
        let requests = u32::try_from(times.len()).context("too many answers")?;
        let middle = times.len() / 2;
        if times.is_empty() {
            return Err(Failure::new("no answer at all"));
        }
        let (_, median, _) = times.select_nth_unstable(middle);
        let p50_us = f64::from(*median) / 1000.0;
        Ok(Self { requests, per_second: f64::from(requests) / took.as_secs_f64(), p50_us })
    }
}

fn nanoseconds(time: Duration) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, time::Duration};

    use tokio::net::TcpListener;

    use super::Callers;
    use crate::floor;

    #[tokio::test]
    async fn every_connection_is_answered_by_the_floor() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let floor = tokio::spawn(floor::serve(listener));
        let mut callers = Callers::connect(address, 8, false).await.expect("the floor accepts");
        assert!(callers.answer().starts_with(br#"{"jsonrpc":"2.0","id":1,"result""#));
        let seen = callers.drive(Duration::from_millis(20)).await.expect("the floor answers");
        assert!(seen.requests >= 8 && seen.p50_us > 0.0, "{seen:?}");
        floor.abort();
    }
}
