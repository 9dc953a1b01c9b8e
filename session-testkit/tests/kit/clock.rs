//! A paused clock and real threads.

use session_testkit::{ManualClock, within};
use std::thread;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

const HOUR: Duration = Duration::from_secs(3600);
const PATIENCE: Duration = Duration::from_secs(10);

/// What an executor does: a plain thread that runs futures on the runtime's handle.
fn on_executor<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> oneshot::Receiver<T> {
    let handle = Handle::current();
    let (told, heard) = oneshot::channel();
    thread::spawn(move || told.send(handle.block_on(work)).ok());
    heard
}

#[tokio::test(start_paused = true)]
async fn an_idle_runtime_does_not_move_the_held_clock() {
    let _clock = ManualClock::hold();
    let before = Instant::now();
    let (told, heard) = oneshot::channel();
    // A real thread works for a while; the runtime has nothing to do but an hour's timer.
    // sleep: on the paused clock; it is the clock that is tested.
    let alarm = tokio::spawn(sleep(HOUR));
    thread::spawn(move || told.send((0..2_000_000_u64).fold(0, u64::wrapping_add)).ok());
    within(PATIENCE, heard).await.unwrap().unwrap();
    assert_eq!(Instant::now(), before);
    assert!(!alarm.is_finished());
}

#[tokio::test(start_paused = true)]
async fn timers_of_tasks_fire_when_time_is_advanced() {
    let clock = ManualClock::hold();
    // sleep: on the paused clock; it is the clock that is tested.
    let alarm = tokio::spawn(sleep(HOUR));
    tokio::task::yield_now().await;
    clock.advance(HOUR - Duration::from_secs(1)).await;
    assert!(!alarm.is_finished());
    clock.advance(Duration::from_secs(1)).await;
    within(PATIENCE, alarm).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn timers_of_executor_threads_fire_when_time_is_advanced() {
    let clock = ManualClock::hold();
    let (ready, is_ready) = oneshot::channel();
    let mut slept = on_executor(async move {
        let began = Instant::now();
        // sleep: on the paused clock; it is the clock that is tested.
        let alarm = sleep(HOUR);
        ready.send(()).unwrap();
        alarm.await;
        began.elapsed()
    });
    within(PATIENCE, is_ready).await.unwrap().unwrap();
    clock.advance(HOUR / 2).await;
    assert!(slept.try_recv().is_err());
    clock.advance(HOUR / 2).await;
    let slept = within(PATIENCE, slept).await.unwrap().unwrap();
    assert!(slept >= HOUR && slept < HOUR + Duration::from_secs(1), "{slept:?}");
}

#[tokio::test(start_paused = true)]
async fn an_executor_thread_and_the_test_see_the_same_time() {
    let clock = ManualClock::hold();
    clock.advance(HOUR).await;
    let there = within(PATIENCE, on_executor(async { Instant::now() })).await.unwrap().unwrap();
    assert_eq!(there, Instant::now());
}

#[tokio::test(start_paused = true)]
async fn the_clock_runs_by_itself_again_when_it_is_let_go() {
    drop(ManualClock::hold());
    // sleep: on the paused clock; it is the clock that is tested.
    within(PATIENCE, sleep(HOUR)).await.unwrap();
}
