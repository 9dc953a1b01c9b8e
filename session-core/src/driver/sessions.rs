//! What a transport holds: the sessions of one server, and handles to them.

use core::num::NonZeroUsize;
use core::ops::Deref;
use core::time::Duration;
use std::boxed::Box;
use std::rc::Rc;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout_at};

use super::call::{Call, CallError, Way};
use super::control::{Control, Status};
use super::entry::{Asker, Closed, Entry, Side};
use super::environment::{Environment, Factory, TaskEnvironment};
use super::observer::{ObservedKind, Subscription};
use super::report::ShutdownReport;
use super::shared::{Make, Shared};
use super::{executor::LocalResident, tasks::TaskResident, timer};
use crate::{
    Class, CloseReason, Config, Event, Lifecycle, Lifespan, Placement, Refusal, SessionId, SessionKey,
    SessionView, Shutdown,
};

/// The threads that environments live on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Threads {
    /// One for each session.
    PerSession,
    /// One for all.
    Shared,
    /// This many; a session stays on its own.
    Pinned(NonZeroUsize),
}

/// Why a session was not opened. Nothing is left of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It was not begun.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It was begun and failed, or its end was asked for meanwhile. What was built has been taken apart, or given up.
    #[error("{message}")]
    Failed {
        /// Why it ended.
        reason: CloseReason,
        /// The environment's own words, or the reason.
        message: String,
    },
}

/// The sessions of one server. Cheap to clone; each transport holds one.
///
/// `C` is what is asked of an environment, `R` what it answers. When the last clone and the last [`Control`] are
/// dropped, a graceful shutdown begins by itself: sessions never outlive whoever could reach them.
pub struct Sessions<C: Send + 'static, R: Send + 'static> {
    owner: Arc<Owner<C, R>>,
}

/// Ends the sessions when nobody holds them any more.
pub(crate) struct Owner<C: Send + 'static, R: Send + 'static> {
    pub(crate) shared: Arc<Shared<C, R>>,
}

impl<C: Send + 'static, R: Send + 'static> Drop for Owner<C, R> {
    fn drop(&mut self) {
        self.shared.transition(|core, now| core.lifecycle.shut_down(now, Shutdown::Graceful));
    }
}

impl<C: Send + 'static, R: Send + 'static> Sessions<C, R> {
    /// Sessions whose environments live on threads. The configuration's placement is replaced by `threads`.
    ///
    /// # Panics
    /// Outside a tokio runtime, or in one without time. Environments that do I/O need one with I/O, too.
    #[must_use]
    pub fn on_threads<F>(config: Config, threads: Threads, factory: F) -> Self
    where
        F: Factory,
        F::Environment: Environment<Call = C, Reply = R>,
    {
        let placement = match threads {
            Threads::PerSession => Placement::PerSession,
            Threads::Shared => Placement::Pinned(NonZeroUsize::MIN),
            Threads::Pinned(threads) => Placement::Pinned(threads),
        };
        let make = Make::OnThreads(Box::new(move |id| {
            factory.build(id).map(|environment| Rc::new(environment) as Rc<dyn LocalResident<C, R>>)
        }));
        let overlap = <F::Environment as Environment>::OVERLAP;
        let unheard = <F::Environment as Environment>::UNHEARD;
        Self::new(Shared::new(Config { placement, ..config }, make, overlap, unheard))
    }

    /// Sessions whose environments run as tasks. The configuration's placement is replaced. What builds them runs on a
    /// worker of the runtime, too, and must not block it.
    ///
    /// # Panics
    /// Outside a tokio runtime, or in one without time.
    #[must_use]
    pub fn as_tasks<F>(config: Config, factory: F) -> Self
    where
        F: Factory,
        F::Environment: TaskEnvironment<Call = C, Reply = R>,
    {
        let make = Make::AsTasks(Box::new(move |id| {
            factory.build(id).map(|environment| Arc::new(environment) as Arc<dyn TaskResident<C, R>>)
        }));
        let overlap = <F::Environment as TaskEnvironment>::OVERLAP;
        let unheard = <F::Environment as TaskEnvironment>::UNHEARD;
        Self::new(Shared::new(Config { placement: Placement::Tasks, ..config }, make, overlap, unheard))
    }

    fn new(shared: Shared<C, R>) -> Self {
        // Panics here if the runtime has no timer, and not in the timer's task, where nobody would hear it.
        drop(tokio::time::sleep(Duration::ZERO));
        let shared = Arc::new(shared);
        shared.runtime.spawn(timer::run(Arc::downgrade(&shared), Arc::clone(&shared.timer)));
        Self { owner: Arc::new(Owner { shared }) }
    }

    fn shared(&self) -> &Arc<Shared<C, R>> {
        &self.owner.shared
    }

    /// Opens a session under this id, which must be made from random bits (see [`SessionId`]).
    ///
    /// At capacity, it waits a moment for the slot of a session that is closing (see
    /// [`ConfigBuilder::slot_wait`](crate::ConfigBuilder::slot_wait)). Resolves once the session is open or, if that
    /// fails, once what was built is taken apart again and the slot is back.
    /// Cancel safe: if the future is dropped, what is being built is finished and taken apart, on its thread.
    ///
    /// # Errors
    /// Refused, or failed.
    pub async fn open(&self, id: SessionId) -> Result<Session<C, R>, OpenError> {
        self.open_as(id, Class::Kept).await
    }

    /// Opens a session that lives for one request: until the returned handle is dropped. It counts against
    /// [`Config::one_shot_capacity`], not against the capacity. Cancel safe, as [`open`](Self::open).
    ///
    /// # Errors
    /// Refused, or failed.
    pub async fn open_one_shot(&self, id: SessionId) -> Result<OneShot<C, R>, OpenError> {
        self.open_as(id, Class::OneShot).await.map(OneShot)
    }

    async fn open_as(&self, id: SessionId, class: Class) -> Result<Session<C, R>, OpenError> {
        let (asker, opened) = oneshot::channel();
        let entry = self.admitted(id, class, asker).await?;
        let session = Session { shared: Arc::clone(self.shared()), entry };
        let mut asking = Asking { session: Some(session) };
        let answer = opened.await;
        let session = asking.session.take();
        match (answer, session) {
            (Ok(Ok(())), Some(session)) => Ok(session),
            (Ok(Err(error)), _) => Err(error),
            (Ok(Ok(())) | Err(_), _) => {
                let reason = CloseReason::AskerGone; // the driver is gone with its runtime
                Err(OpenError::Failed { reason, message: reason.as_str().into() })
            }
        }
    }

    /// Takes a slot, waiting for one for a while if a session is about to give its own back.
    async fn admitted(&self, id: SessionId, class: Class, asker: Asker) -> Result<Arc<Entry>, Refusal> {
        let shared = self.shared();
        let mut asker = Some(asker);
        let mut deadline = None;
        loop {
            let mut freed = core::pin::pin!(shared.slots.notified());
            freed.as_mut().enable(); // before the look: a slot that is freed right after it is not missed
            let (refusal, wait) = match self.admit(&id, class, &mut asker) {
                Ok(entry) => return Ok(entry),
                Err(refused) => refused,
            };
            let (Refusal::AtCapacity { .. }, Some(wait)) = (refusal, wait) else { return Err(refusal) };
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + wait);
            if timeout_at(deadline, freed).await.is_err() {
                return Err(refusal);
            }
        }
    }

    /// Takes a slot, or says why not and how long it is worth waiting for one.
    fn admit(
        &self,
        id: &SessionId,
        class: Class,
        asker: &mut Option<Asker>,
    ) -> Result<Arc<Entry>, (Refusal, Option<Duration>)> {
        let shared = self.shared();
        shared.transition(|core, now| {
            let opened = core.lifecycle.open(now, id.clone(), class);
            let key = opened.map_err(|refusal| (refusal, core.lifecycle.slot_wait()))?;
            let entry = Arc::new(Entry::new(key, id.clone()));
            core.insert(Side::new(Arc::clone(&entry), asker.take()));
            shared.observe(core, now, || ObservedKind::Opening { key, id: id.clone() });
            Ok(entry)
        })
    }

    /// The open session with this id.
    ///
    /// # Errors
    /// Unknown, or ended a short while ago.
    pub fn find(&self, id: &str) -> Result<Session<C, R>, Refusal> {
        let mut core = self.shared().lock();
        let key = core.lifecycle.find(id)?;
        let entry = core.side(key).map(|side| Arc::clone(&side.entry)).ok_or(Refusal::Unknown)?;
        Ok(Session { shared: Arc::clone(self.shared()), entry })
    }

    /// Begins a call on the session with this id: one critical section.
    ///
    /// # Errors
    /// Unknown, ended, still opening or closing.
    pub fn begin_call(&self, id: &str) -> Result<Call<C, R>, Refusal> {
        begin(self.shared(), |lifecycle| lifecycle.find(id))
    }

    /// The same for whoever only watches and ends: it does not know what environments are asked.
    #[must_use]
    pub fn control(&self) -> Control {
        Control::new(Arc::clone(&self.owner))
    }

    /// All sessions, those that were given up included.
    #[must_use]
    pub fn list(&self) -> Vec<SessionView> {
        self.control().list()
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.control().status()
    }

    /// Lifecycle events from now on.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        self.control().subscribe()
    }

    /// How far the whole is, and every change of it.
    #[must_use]
    pub fn lifespan(&self) -> watch::Receiver<Lifespan> {
        self.control().lifespan()
    }

    /// Begins the shutdown, or makes it more urgent, and returns at once.
    pub fn begin_shutdown(&self, how: Shutdown) {
        self.control().begin_shutdown(how);
    }

    /// Begins the shutdown, or makes it more urgent, and waits until everything has stopped. Cancel safe: what has
    /// begun goes on.
    pub async fn shutdown(&self, how: Shutdown) -> ShutdownReport {
        self.control().shutdown(how).await
    }

    /// Waits until everything has stopped. Cancel safe.
    pub async fn stopped(&self) -> ShutdownReport {
        self.control().stopped().await
    }
}

impl<C: Send + 'static, R: Send + 'static> Clone for Sessions<C, R> {
    fn clone(&self) -> Self {
        Self { owner: Arc::clone(&self.owner) }
    }
}

impl<C: Send + 'static, R: Send + 'static> core::fmt::Debug for Sessions<C, R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sessions").field("status", &self.status()).finish()
    }
}

fn begin<C: Send + 'static, R: Send + 'static>(
    shared: &Arc<Shared<C, R>>,
    find: impl FnOnce(&Lifecycle) -> Result<SessionKey, Refusal>,
) -> Result<Call<C, R>, Refusal> {
    let mut core = shared.lock();
    let key = find(&core.lifecycle)?;
    core.lifecycle.begin_call(key)?; // emits no action: nothing to carry out
    let side = core.side(key).ok_or(Refusal::Unknown)?;
    side.entry.unstarted.add();
    let (entry, way) = (Arc::clone(&side.entry), Way::to(&side.home));
    drop(core);
    Ok(Call::new(Arc::clone(shared), entry, way))
}

/// Whoever asked for a session and does not have it yet.
struct Asking<C: Send + 'static, R: Send + 'static> {
    session: Option<Session<C, R>>,
}

impl<C: Send + 'static, R: Send + 'static> Drop for Asking<C, R> {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            let _ = session.begin_close(CloseReason::AskerGone);
        }
    }
}

/// A handle to a session. Cheap to clone; holding it does not keep the session open.
pub struct Session<C: Send + 'static, R: Send + 'static> {
    shared: Arc<Shared<C, R>>,
    entry: Arc<Entry>,
}

impl<C: Send + 'static, R: Send + 'static> Session<C, R> {
    /// The id that its client knows.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.entry.id
    }

    /// Its internal name.
    #[must_use]
    pub fn key(&self) -> SessionKey {
        self.entry.key
    }

    /// Begins a call.
    ///
    /// # Errors
    /// The session is not open (any more).
    pub fn begin_call(&self) -> Result<Call<C, R>, Refusal> {
        begin(&self.shared, |_| Ok(self.entry.key))
    }

    /// Runs one call. Cancel safe, see [`Call::run`].
    ///
    /// # Errors
    /// Refused, or see [`Call::run`].
    pub async fn call(&self, call: C) -> Result<R, CallError> {
        self.begin_call()?.run(call).await
    }

    /// Attaches a stream: the session is not idle until it is dropped.
    ///
    /// # Errors
    /// The session is not open, or the server is draining.
    pub fn attach(&self) -> Result<Attachment<C, R>, Refusal> {
        self.shared.lock().lifecycle.attach(self.entry.key)?;
        Ok(Attachment { session: self.clone() })
    }

    /// Begins its end and returns at once.
    ///
    /// # Errors
    /// It is closing or gone already.
    pub fn begin_close(&self, reason: CloseReason) -> Result<(), Refusal> {
        self.shared.transition(|core, now| core.lifecycle.close(now, self.entry.key, reason))
    }

    /// Closes it and waits until it is taken apart or given up. Cancel safe: what has begun goes on.
    ///
    /// # Errors
    /// It is closing or gone already.
    pub async fn close(&self) -> Result<Closed, Refusal> {
        self.begin_close(CloseReason::Requested)?;
        Ok(self.entry.closed().await)
    }

    /// Waits until it is taken apart or given up, whoever ends it. Cancel safe.
    pub async fn closed(&self) -> Closed {
        self.entry.closed().await
    }
}

impl<C: Send + 'static, R: Send + 'static> Clone for Session<C, R> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), entry: Arc::clone(&self.entry) }
    }
}

impl<C: Send + 'static, R: Send + 'static> core::fmt::Debug for Session<C, R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Session({}, {})", self.entry.key, self.entry.id)
    }
}

/// A session for one request. Dropping it begins its end; a call that is still in flight is let finish.
#[derive(Debug)]
#[must_use = "dropping it ends the session"]
pub struct OneShot<C: Send + 'static, R: Send + 'static>(Session<C, R>);

impl<C: Send + 'static, R: Send + 'static> Deref for OneShot<C, R> {
    type Target = Session<C, R>;

    fn deref(&self) -> &Session<C, R> {
        &self.0
    }
}

impl<C: Send + 'static, R: Send + 'static> Drop for OneShot<C, R> {
    fn drop(&mut self) {
        let _ = self.0.begin_close(CloseReason::OneShotDone);
    }
}

/// A stream that is attached to a session. Dropping it detaches it.
#[must_use = "dropping it detaches the stream"]
pub struct Attachment<C: Send + 'static, R: Send + 'static> {
    session: Session<C, R>,
}

impl<C: Send + 'static, R: Send + 'static> Attachment<C, R> {
    /// The session.
    #[must_use]
    pub const fn session(&self) -> &Session<C, R> {
        &self.session
    }

    /// Resolves when the stream is to go: the session is closing, or the server is shutting down. Cancel safe.
    pub async fn told_to_go(&self) {
        self.session.entry.go.wait().await;
    }
}

impl<C: Send + 'static, R: Send + 'static> Drop for Attachment<C, R> {
    fn drop(&mut self) {
        self.session.shared.tell(Event::Detached(self.session.entry.key));
    }
}

impl<C: Send + 'static, R: Send + 'static> core::fmt::Debug for Attachment<C, R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Attachment").field("session", &self.session).finish()
    }
}
