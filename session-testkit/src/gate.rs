//! A gate: something waits in front of it until the test opens it.

use crate::patience::{Impatient, within};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// The test's end of a gate. Whoever is to wait gets a [`Turnstile`].
///
/// A gate opens when it is dropped: a test that fails leaves no thread blocked behind it.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use session_testkit::Gate;
/// use std::time::Duration;
///
/// let gate = Gate::new();
/// let turnstile = gate.turnstile();
/// let waiting = tokio::spawn(async move { turnstile.wait().await });
/// gate.arrived(Duration::from_secs(5)).await.unwrap();
/// gate.open();
/// waiting.await.unwrap();
/// # });
/// ```
#[derive(Debug, Default)]
pub struct Gate {
    turnstile: Turnstile,
}

/// The place where one waits for a [`Gate`] to open. Clones lead to the same gate.
#[derive(Clone, Debug, Default)]
pub struct Turnstile {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Wakes threads.
    opened: Condvar,
    /// Wakes tasks; follows `state`.
    told: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    open: bool,
    arrived: usize,
}

impl Default for Shared {
    fn default() -> Self {
        Self { state: Mutex::default(), opened: Condvar::new(), told: watch::Sender::new(State::default()) }
    }
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A way to wait for it.
    #[must_use]
    pub fn turnstile(&self) -> Turnstile {
        self.turnstile.clone()
    }

    /// Lets through everybody who waits, and everybody who comes later.
    pub fn open(&self) {
        self.turnstile.change(|state| state.open = true);
        self.turnstile.shared.opened.notify_all();
    }

    /// How many have come so far, those let through included.
    #[must_use]
    pub fn arrivals(&self) -> usize {
        self.turnstile.state().arrived
    }

    /// Waits until somebody has come to the gate.
    ///
    /// # Errors
    /// [`Impatient`] if nobody has within `patience` of real time.
    pub async fn arrived(&self, patience: Duration) -> Result<(), Impatient> {
        self.arrived_times(1, patience).await
    }

    /// Waits until `times` have come to the gate.
    ///
    /// # Errors
    /// [`Impatient`] if they have not within `patience` of real time.
    pub async fn arrived_times(&self, times: usize, patience: Duration) -> Result<(), Impatient> {
        within(patience, self.turnstile.until(|state| state.arrived >= times)).await
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

impl Turnstile {
    /// Waits as a task does: the thread is free meanwhile.
    pub async fn wait(&self) {
        self.change(|state| state.arrived += 1);
        self.until(|state| state.open).await;
    }

    /// Blocks the thread, as a synchronous environment does.
    pub fn wait_blocking(&self) {
        self.change(|state| state.arrived += 1);
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.open {
            state = self.shared.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> State {
        *self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        // Told under the lock: two changes can't be told in the wrong order.
        self.shared.told.send_replace(*state);
    }

    async fn until(&self, reached: impl FnMut(&State) -> bool) {
        let mut told = self.shared.told.subscribe();
        let end = told.wait_for(reached).await.is_err();
        debug_assert!(!end, "the sender lives in `self`");
    }
}
