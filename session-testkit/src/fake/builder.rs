//! Describes fakes, makes them, and remembers their clients.

use super::behaviour::{Behaviour, Cue, Script, Stage};
use super::client::{ClientState, ClientWatch, FakeMcpClient};
use super::core::{Core, Fallback, Seen};
use super::environment::{FakeEnvironment, FakeTask};
use crate::event::{AS_TASKS, Extras, Kind, LIVES};
use crate::recorder::Recorder;
use session_core::{BoxError, Factory, SessionId};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Says how fakes behave; made by [`FakeEnvironment::builder`].
///
/// ```
/// use session_testkit::{Behaviour, FakeEnvironment, Gate, Recorder, Stage};
///
/// let (recorder, gate) = (Recorder::new(), Gate::new());
/// let fakes = FakeEnvironment::builder()
///     .recording(&recorder)
///     .on(Stage::Leave, Behaviour::gate(&gate).of(0))
///     .on(Stage::Close, Behaviour::fail("the disk is full").first(1))
///     .build();
/// # let _ = fakes;
/// ```
#[derive(Clone, Debug, Default)]
pub struct FakeBuilder {
    recorder: Option<Recorder>,
    script: Script,
}

impl FakeBuilder {
    /// Records there what happens to all of them.
    #[must_use]
    pub fn recording(mut self, recorder: &Recorder) -> Self {
        self.recorder = Some(recorder.clone());
        self
    }

    /// Adds a behaviour to a stage, after those that it has already.
    #[must_use]
    pub fn on(mut self, stage: Stage, behaviour: Behaviour) -> Self {
        self.script.add(stage, behaviour);
        self
    }

    /// A factory of such environments.
    #[must_use]
    pub fn build(self) -> Fakes {
        let recorder = self.recorder.unwrap_or_default();
        Fakes {
            shared: Arc::new(Shared { recorder, script: Arc::new(self.script), clients: Mutex::default() }),
        }
    }
}

/// A factory of [`FakeEnvironment`]s. The test keeps a clone, and sees their clients.
#[derive(Clone)]
pub struct Fakes {
    shared: Arc<Shared>,
}

/// The same for [`FakeTask`]s.
#[derive(Clone, Debug)]
pub struct FakeTasks(Fakes);

struct Shared {
    recorder: Recorder,
    script: Arc<Script>,
    /// Of every environment whose construction began, in that order.
    clients: Mutex<Vec<ClientWatch>>,
}

impl fmt::Debug for Fakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fakes").field("clients", &self.clients()).finish_non_exhaustive()
    }
}

impl Fakes {
    /// The same, for environments that need no thread.
    #[must_use]
    pub fn as_tasks(&self) -> FakeTasks {
        FakeTasks(self.clone())
    }

    /// Where they record.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.shared.recorder
    }

    /// The clients of all environments whose construction began, in that order.
    #[must_use]
    pub fn clients(&self) -> Vec<ClientWatch> {
        self.shared.clients.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many of their clients stand like this.
    #[must_use]
    pub fn count(&self, state: ClientState) -> usize {
        self.clients().iter().filter(|client| client.state() == state).count()
    }

    fn core(&self, id: &SessionId, extras: Extras) -> Result<Core, BoxError> {
        let shared = &*self.shared;
        let client = FakeMcpClient::new();
        let instance = {
            let mut clients = shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
            clients.push(client.watch());
            clients.len() - 1
        };
        let (recorder, session) = (&shared.recorder, id.as_str());
        recorder.record_with(session, Kind::Constructing, extras);
        let not_yet = Fallback::new(recorder, session, Kind::ConstructFailed);
        shared.script.play_blocking(Cue { stage: Stage::Build, instance, nth: instance })?;
        let (recorder, session, script) = (recorder.clone(), session.into(), shared.script.clone());
        let core = Core { session, instance, recorder, script, client, seen: Seen::default() };
        not_yet.replaced_by(Kind::Constructed);
        Ok(core)
    }
}

impl Factory for Fakes {
    type Environment = FakeEnvironment;

    fn build(&self, id: &SessionId) -> Result<FakeEnvironment, BoxError> {
        // It is the executor's thread: its end is part of the story.
        self.shared.recorder.watch_thread();
        self.core(id, Vec::new()).map(FakeEnvironment::new)
    }
}

impl Factory for FakeTasks {
    type Environment = FakeTask;

    fn build(&self, id: &SessionId) -> Result<FakeTask, BoxError> {
        let lives = vec![(LIVES, AS_TASKS.into())];
        self.0.core(id, lives).map(FakeTask::new)
    }
}
