//! The operating system's wish that the process end.

use std::io;

use futures_util::Stream;
use session_core::Shutdown;

/// SIGTERM and SIGINT as requests to shut down: the first is graceful, every further one forces. For
/// [`Server::serve`](crate::Server::serve).
///
/// From this call on the process no longer ends by itself on these signals, and none is lost before the stream is
/// asked.
///
/// # Errors
/// The system won't let the process listen to a signal.
#[cfg(unix)]
pub fn signals() -> io::Result<impl Stream<Item = Shutdown> + Send + Unpin + 'static> {
    use core::task::Poll;
    use tokio::signal::unix::{SignalKind, signal};

    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut next = Shutdown::Graceful;
    Ok(futures_util::stream::poll_fn(move |context| {
        // Both are asked, so that both wake.
        let heard = [terminate.poll_recv(context), interrupt.poll_recv(context)];
        if heard.iter().any(Poll::is_ready) {
            return Poll::Ready(Some(core::mem::replace(&mut next, Shutdown::Forced)));
        }
        Poll::Pending
    }))
}

/// Ctrl-C as a request to shut down: the first is graceful, every further one forces. For
/// [`Server::serve`](crate::Server::serve).
///
/// # Errors
/// None: where there are no signals, one that can't be heard is as one that never comes.
#[cfg(not(unix))]
pub fn signals() -> io::Result<impl Stream<Item = Shutdown> + Send + Unpin + 'static> {
    Ok(Box::pin(futures_util::stream::unfold(Shutdown::Graceful, async |next| {
        tokio::signal::ctrl_c().await.ok()?;
        Some((next, Shutdown::Forced))
    })))
}
