//! Environments that do as they are told.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, Once};

use session_core::*;
use tokio::sync::watch;

use super::record::{Did, Record};

/// What an environment does when its turn comes. `Pass` if it was told nothing.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Pass,
    Fail,
    /// Panics while it is polled.
    Panic,
    /// Panics before there is anything to poll.
    PanicAtOnce,
    /// Waits for ever, in a way that can be dropped.
    Hang,
    /// The same, and panics when it is dropped.
    HangAndPanic,
    /// Blocks its thread until the gate opens.
    Block(Gate),
    /// Waits for the gate, in a way that can be dropped.
    Await(Gate),
    /// Waits that long by tokio's clock.
    Sleep(std::time::Duration),
    /// Keeps its thread from ending until the gate opens.
    Linger(Gate),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    Build,
    Enter,
    Leave,
    Close,
    Drop,
}

/// Opens once.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<Hinge>);

#[derive(Debug, Default)]
struct Hinge {
    open: Mutex<bool>,
    opened: Condvar,
    told: watch::Sender<bool>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn open(&self) {
        *self.0.open.lock().unwrap() = true;
        self.0.opened.notify_all();
        self.0.told.send_replace(true);
    }

    fn block(&self) {
        let open = self.0.open.lock().unwrap();
        drop(self.0.opened.wait_while(open, |open| !*open).unwrap());
    }

    async fn wait(&self) {
        self.0.told.subscribe().wait_for(|open| *open).await.unwrap();
    }
}

/// A call: what to answer, and what to do before.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) number: u32,
    pub(crate) act: Act,
}

pub(crate) fn ask(number: u32, act: Act) -> Ask {
    Ask { number, act }
}

type Plans = HashMap<(String, Stage), VecDeque<Act>>;

/// What all environments of a test share.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) record: Record,
    plans: Arc<Mutex<Plans>>,
}

impl World {
    pub(crate) fn new() -> Self {
        be_quiet_about_planned_panics();
        Self { record: Record::new(), plans: Arc::default() }
    }

    /// What the session does when it comes to that stage: one after the other, then `Pass`.
    pub(crate) fn plan(&self, id: &str, stage: Stage, acts: impl IntoIterator<Item = Act>) {
        self.plans.lock().unwrap().entry((id.into(), stage)).or_default().extend(acts);
    }

    pub(crate) fn factory<E: From<Soul> + 'static>(
        &self,
    ) -> impl Fn(&SessionId) -> Result<E, BoxError> + Send + Sync + 'static + use<E> {
        let world = self.clone();
        move |id| {
            world.record.add(id.as_str(), Did::Build);
            match world.next(id.as_str(), Stage::Build) {
                Act::Fail => return Err("the build failed".into()),
                Act::Panic | Act::PanicAtOnce | Act::HangAndPanic => panic!("the build panicked on purpose"),
                Act::Block(gate) => gate.block(),
                Act::Pass | Act::Hang | Act::Await(_) | Act::Sleep(_) | Act::Linger(_) => {}
            }
            Ok(E::from(Soul { world: world.clone(), id: id.clone() }))
        }
    }

    fn next(&self, id: &str, stage: Stage) -> Act {
        let mut plans = self.plans.lock().unwrap();
        let next = plans.get_mut(&(id.to_owned(), stage)).and_then(VecDeque::pop_front);
        next.unwrap_or(Act::Pass)
    }
}

/// What an environment is apart from where it lives.
pub(crate) struct Soul {
    world: World,
    id: SessionId,
}

impl Soul {
    fn take(&self, stage: Stage, did: Did) -> impl Future<Output = Result<(), BoxError>> + Send + use<> {
        self.world.record.add(self.id.as_str(), did);
        self.world.next(self.id.as_str(), stage).perform(stage)
    }

    fn call(&self, Ask { number, act }: Ask) -> impl Future<Output = u32> + Send + use<> {
        self.world.record.add(self.id.as_str(), Did::Call(number));
        let mut fate =
            Fate { world: self.world.clone(), id: self.id.clone(), number, end: Did::Lost(number) };
        let doing = act.perform(Stage::Enter);
        async move {
            let fine = doing.await.is_ok();
            fate.end = Did::Reply(number);
            drop(fate);
            if fine { number + 1 } else { 0 }
        }
    }
}

impl Drop for Soul {
    fn drop(&mut self) {
        self.world.record.add(self.id.as_str(), Did::Drop);
        match self.world.next(self.id.as_str(), Stage::Drop) {
            Act::Panic | Act::PanicAtOnce => panic!("the drop panicked on purpose"),
            Act::Block(gate) => gate.block(),
            _ => {}
        }
    }
}

/// Records how a call ended.
struct Fate {
    world: World,
    id: SessionId,
    number: u32,
    end: Did,
}

impl Drop for Fate {
    fn drop(&mut self) {
        debug_assert!(matches!(self.end, Did::Lost(_) | Did::Reply(_)), "{}", self.number);
        self.world.record.add(self.id.as_str(), self.end);
    }
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("the future's drop panicked on purpose");
    }
}

/// Blocks in the destructor of a thread-local.
struct Lingering(RefCell<Option<Gate>>);

impl Drop for Lingering {
    fn drop(&mut self) {
        if let Some(gate) = self.0.take() {
            gate.block();
        }
    }
}

std::thread_local!(static LINGERING: Lingering = const { Lingering(RefCell::new(None)) });

impl Act {
    pub(crate) fn perform(self, stage: Stage) -> impl Future<Output = Result<(), BoxError>> + Send + use<> {
        if let Self::PanicAtOnce = self {
            panic!("{stage:?} panicked at once, on purpose");
        }
        async move {
            match self {
                Self::Pass => {}
                Self::Fail => return Err(format!("{stage:?} failed").into()),
                Self::Panic | Self::PanicAtOnce => panic!("{stage:?} panicked on purpose"),
                Self::Hang => std::future::pending().await,
                Self::HangAndPanic => {
                    let _guard = PanicsWhenDropped;
                    std::future::pending::<()>().await;
                }
                Self::Block(gate) => gate.block(),
                Self::Await(gate) => gate.wait().await,
                // sleep: what an environment that takes its time does; on the paused clock.
                Self::Sleep(span) => tokio::time::sleep(span).await,
                Self::Linger(gate) => LINGERING.with(|lingering| {
                    lingering.0.replace(Some(gate));
                }),
            }
            Ok(())
        }
    }
}

/// Lives on a thread; can't be sent.
pub(crate) struct OnThread<const SERIALISED: bool, const CANCEL: bool> {
    soul: Soul,
    _not_send: Rc<()>,
}

impl<const S: bool, const C: bool> From<Soul> for OnThread<S, C> {
    fn from(soul: Soul) -> Self {
        Self { soul, _not_send: Rc::new(()) }
    }
}

/// Runs as tasks.
pub(crate) struct AsTask<const SERIALISED: bool, const CANCEL: bool> {
    soul: Soul,
}

impl<const S: bool, const C: bool> From<Soul> for AsTask<S, C> {
    fn from(soul: Soul) -> Self {
        Self { soul }
    }
}

macro_rules! embody {
    ($trait:ident, $type:ident, $($send:ident)?) => {
        impl<const S: bool, const C: bool> $trait for $type<S, C> {
            type Call = Ask;
            type Reply = u32;
            const OVERLAP: Overlap = if S { Overlap::Serialised } else { Overlap::Concurrent };
            const UNHEARD: Unheard = if C { Unheard::Cancel } else { Unheard::Finish };

            fn enter(&self) -> impl Future<Output = Result<(), BoxError>> $(+ $send)? {
                self.soul.take(Stage::Enter, Did::Enter)
            }

            fn call(&self, call: Ask) -> impl Future<Output = u32> $(+ $send)? {
                self.soul.call(call)
            }

            fn leave(&self) -> impl Future<Output = Result<(), BoxError>> $(+ $send)? {
                self.soul.take(Stage::Leave, Did::Leave)
            }

            fn close(&self) -> impl Future<Output = Result<(), BoxError>> $(+ $send)? {
                self.soul.take(Stage::Close, Did::Close)
            }
        }
    };
}

embody!(Environment, OnThread,);
embody!(TaskEnvironment, AsTask, Send);

/// Panics that a test asked for are not news.
fn be_quiet_about_planned_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload_as_str().is_some_and(|text| text.ends_with("on purpose")) {
                usual(info);
            }
        }));
    });
}
