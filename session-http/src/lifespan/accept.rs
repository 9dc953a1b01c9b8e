//! Takes connections from the listeners, counts them, and ends them.

use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::exit::ConnectionReport;
use super::trouble::Trouble;
use crate::connection::{self, Protocol};
use crate::listener::{AnyListener, Stream};
use crate::{Limits, Service};

/// How many refusals are written at once. Beyond it a connection too many is closed without a word, so that a flood
/// can't take the memory that the limit protects.
const REFUSALS: usize = 256;

/// How long connections that are cut may take to let go of what they hold.
const LETTING_GO: Duration = Duration::from_millis(100);

/// All listeners at work. Dropped, it cuts every connection.
pub(crate) struct Accepting {
    loops: JoinSet<JoinSet<()>>,
    closing: watch::Sender<bool>,
    counts: Arc<Counts>,
}

struct Counts {
    free: Arc<Semaphore>,
    served: AtomicU64,
    refused: AtomicU64,
}

/// What each listener's loop needs.
struct Front<S> {
    service: S,
    limits: Limits,
    protocol: Arc<Protocol>,
    counts: Arc<Counts>,
    closing: watch::Receiver<bool>,
}

impl Accepting {
    pub(crate) fn begin<S: Service>(
        listeners: Vec<Box<dyn AnyListener>>,
        service: &S,
        limits: Limits,
    ) -> Self {
        let (closing, _) = watch::channel(false);
        let free = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
        let counts = Arc::new(Counts { free, served: AtomicU64::new(0), refused: AtomicU64::new(0) });
        let protocol = Arc::new(connection::protocol(&limits));
        let mut loops = JoinSet::new();
        for listener in listeners {
            let front = Front {
                service: service.clone(),
                limits,
                protocol: Arc::clone(&protocol),
                counts: Arc::clone(&counts),
                closing: closing.subscribe(),
            };
            loops.spawn(front.run(listener));
        }
        Self { loops, closing, counts }
    }

    /// Takes no more connections, lets answers in flight be delivered, and cuts what is left when `until` is over.
    pub(crate) async fn finish(mut self, until: impl Future<Output = ()>) -> ConnectionReport {
        self.closing.send_replace(true);
        let mut left = Vec::new();
        let delivering = async {
            while let Some(connections) = self.loops.join_next().await {
                left.extend(connections.ok());
            }
            all_ended(&mut left).await;
        };
        tokio::select! {
            () = delivering => {}
            () = until => {}
        }
        let cut: usize = left.iter_mut().map(cut).sum();
        // Their handlers let go of what they hold before the report. One that blocks its thread never would: it is not
        // waited for (I8).
        let _ = timeout(LETTING_GO, all_ended(&mut left)).await;
        let Counts { served, refused, .. } = &*self.counts;
        let (served, refused) = (served.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
        ConnectionReport { served, refused, cut: cut as u64 }
    }
}

impl<S: Service> Front<S> {
    /// Accepts until it is told to end; what is left then are the connections.
    async fn run(self, mut listener: Box<dyn AnyListener>) -> JoinSet<()> {
        let (mut connections, mut refusals) = (JoinSet::new(), JoinSet::new());
        let mut trouble = Trouble::default();
        let mut closing = self.closing.clone();
        loop {
            tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => return connections,
                Some(_) = connections.join_next() => {}
                Some(_) = refusals.join_next() => {}
                stream = next(&mut *listener, &self.limits, &mut trouble) => {
                    self.admit(stream, &mut connections, &mut refusals);
                }
            }
        }
    }

    fn admit(&self, stream: Box<dyn Stream>, connections: &mut JoinSet<()>, refusals: &mut JoinSet<()>) {
        let Ok(permit) = Arc::clone(&self.counts.free).try_acquire_owned() else {
            if self.counts.refused.fetch_add(1, Ordering::Relaxed) == 0 {
                let limit = self.limits.connections;
                tracing::warn!(
                    limit,
                    "too many connections: refusing with 503 (further ones are only counted)"
                );
            }
            if refusals.len() < REFUSALS {
                refusals.spawn(connection::refuse(stream));
            }
            return;
        };
        self.counts.served.fetch_add(1, Ordering::Relaxed);
        let (service, protocol) = (self.service.clone(), Arc::clone(&self.protocol));
        let serving = connection::serve(stream, service, protocol, self.limits, self.closing.clone());
        connections.spawn(async move {
            serving.await;
            drop(permit);
        });
    }
}

async fn all_ended(connections: &mut [JoinSet<()>]) {
    for connections in connections {
        while connections.join_next().await.is_some() {}
    }
}

/// Tells the connections that have not ended to; how many.
fn cut(connections: &mut JoinSet<()>) -> usize {
    while connections.try_join_next().is_some() {}
    connections.abort_all();
    connections.len()
}

/// The next connection, however long the system refuses to give one.
async fn next(listener: &mut dyn AnyListener, limits: &Limits, trouble: &mut Trouble) -> Box<dyn Stream> {
    loop {
        match listener.accept(limits).await {
            Ok(stream) => {
                trouble.is_over();
                return stream;
            }
            Err(error) => tokio::time::sleep(trouble.pause(&error).unwrap_or(Duration::ZERO)).await,
        }
    }
}
