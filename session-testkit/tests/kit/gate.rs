use session_testkit::{Gate, Impatient};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_task_waits_until_the_gate_opens() {
    let gate = Gate::new();
    let turnstile = gate.turnstile();
    let waiting = tokio::spawn(async move { turnstile.wait().await });
    gate.arrived(PATIENCE).await.unwrap();
    assert!(!waiting.is_finished());
    gate.open();
    waiting.await.unwrap();
}

#[tokio::test]
async fn a_thread_waits_until_the_gate_opens() {
    let gate = Gate::new();
    let (one, two) = (gate.turnstile(), gate.turnstile());
    let threads = [thread::spawn(move || one.wait_blocking()), thread::spawn(move || two.wait_blocking())];
    gate.arrived_times(2, PATIENCE).await.unwrap();
    assert!(threads.iter().all(|thread| !thread.is_finished()));
    gate.open();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(gate.arrivals(), 2);
}

#[test]
fn a_forgotten_gate_opens() {
    let gate = Gate::new();
    let turnstile = gate.turnstile();
    let thread = thread::spawn(move || turnstile.wait_blocking());
    drop(gate);
    thread.join().unwrap();
}

#[tokio::test]
async fn an_open_gate_lets_late_comers_through() {
    let gate = Gate::new();
    gate.open();
    gate.turnstile().wait().await;
    gate.turnstile().wait_blocking();
}

#[tokio::test(start_paused = true)]
async fn patience_is_measured_in_real_time() {
    let patience = Duration::from_millis(20);
    assert_eq!(Gate::new().arrived(patience).await, Err(Impatient { patience }));
}
