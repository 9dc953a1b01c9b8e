//! What a fake does in a stage of its life instead of nothing.

use crate::gate::{Gate, Turnstile};
use session_core::BoxError;
use std::future::pending;
use std::thread;
use std::time::Duration;

/// The stages of an environment's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Its constructor. Always synchronous: whatever waits blocks the thread.
    Build,
    /// Entering the MCP context.
    Enter,
    /// A call.
    Call,
    /// Leaving the MCP context.
    Leave,
    /// Closing.
    Close,
    /// Dropping its value. Always synchronous, and a failure of it can't be told to anybody.
    Drop,
}

/// One thing that happens in a stage. Several happen in the order in which they were given.
#[derive(Clone, Debug)]
pub struct Behaviour {
    act: Act,
    manner: Manner,
    first: Option<usize>,
    instance: Option<usize>,
}

#[derive(Clone, Debug)]
enum Act {
    Delay(Duration),
    Gate(Turnstile),
    Fail(String),
    Panic(String),
    Hang,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// It awaits: others on the thread go on, and it can be interrupted.
    Awaiting,
    /// It blocks its thread, and can't.
    Blocking,
}

impl Behaviour {
    fn new(act: Act) -> Self {
        Self { act, manner: Manner::Awaiting, first: None, instance: None }
    }

    /// Takes a while: on tokio's clock if it awaits, on the machine's if it blocks.
    #[must_use]
    pub fn delay(duration: Duration) -> Self {
        Self::new(Act::Delay(duration))
    }

    /// Waits until the gate opens.
    #[must_use]
    pub fn gate(gate: &Gate) -> Self {
        Self::new(Act::Gate(gate.turnstile()))
    }

    /// Fails with this text.
    #[must_use]
    pub fn fail(message: &str) -> Self {
        Self::new(Act::Fail(message.into()))
    }

    /// Panics with this text.
    #[must_use]
    pub fn panic(message: &str) -> Self {
        Self::new(Act::Panic(message.into()))
    }

    /// Never ends. Blocking, it costs a thread until the process ends.
    #[must_use]
    pub fn hang() -> Self {
        Self::new(Act::Hang)
    }

    /// Blocks the thread instead of awaiting, as synchronous environments do.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.manner = Manner::Blocking;
        self
    }

    /// Only the first `times` that an environment comes to this stage; later it does nothing. For
    /// [`Stage::Build`], which each environment comes to once: only the first `times` that any is
    /// built.
    #[must_use]
    pub fn first(mut self, times: usize) -> Self {
        self.first = Some(times);
        self
    }

    /// Only in one environment: the `instance`th that was built, counting from 0.
    #[must_use]
    pub fn of(mut self, instance: usize) -> Self {
        self.instance = Some(instance);
        self
    }

    fn applies(&self, instance: usize, nth: usize) -> bool {
        self.first.is_none_or(|first| nth < first) && self.instance.is_none_or(|only| only == instance)
    }

    async fn play(&self) -> Result<(), BoxError> {
        if self.manner == Manner::Blocking {
            return self.play_blocking();
        }
        match &self.act {
            Act::Delay(duration) => tokio::time::sleep(*duration).await,
            Act::Gate(turnstile) => turnstile.wait().await,
            Act::Hang => pending().await,
            Act::Fail(_) | Act::Panic(_) => return self.play_blocking(),
        }
        Ok(())
    }

    #[expect(clippy::panic, reason = "a panic is what was asked for")]
    fn play_blocking(&self) -> Result<(), BoxError> {
        match &self.act {
            Act::Delay(duration) => thread::sleep(*duration),
            Act::Gate(turnstile) => turnstile.wait_blocking(),
            Act::Fail(message) => return Err(message.as_str().into()),
            Act::Panic(message) => panic!("{message}"),
            Act::Hang => loop {
                // Parking may end for no reason.
                thread::park();
            },
        }
        Ok(())
    }
}

/// All behaviours of all stages.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    rules: Vec<(Stage, Behaviour)>,
}

/// Which stage of which environment, for the how manyth time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cue {
    pub(super) stage: Stage,
    pub(super) instance: usize,
    pub(super) nth: usize,
}

impl Script {
    pub(super) fn add(&mut self, stage: Stage, behaviour: Behaviour) {
        self.rules.push((stage, behaviour));
    }

    fn behaviours(&self, cue: Cue) -> impl Iterator<Item = &Behaviour> {
        let of_stage = self.rules.iter().filter(move |(stage, _)| *stage == cue.stage);
        of_stage.map(|(_, behaviour)| behaviour).filter(move |b| b.applies(cue.instance, cue.nth))
    }

    /// Plays them one after the other, until one fails.
    pub(super) async fn play(&self, cue: Cue) -> Result<(), BoxError> {
        for behaviour in self.behaviours(cue) {
            behaviour.play().await?;
        }
        Ok(())
    }

    /// The same where nothing can be awaited.
    pub(super) fn play_blocking(&self, cue: Cue) -> Result<(), BoxError> {
        self.behaviours(cue).try_for_each(Behaviour::play_blocking)
    }
}
