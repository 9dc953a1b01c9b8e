use serde_json::Value;
use session_testkit::{Kind, Recorder, Span};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn an_event_of_another_thread_is_awaited_under_a_paused_clock() {
    let recorder = Recorder::new();
    let there = recorder.clone();
    let thread = thread::Builder::new().name("worker".into());
    let thread = thread.spawn(move || there.record("a", Kind::Closed)).unwrap();
    let seen = recorder.wait_for("a", Kind::Closed, PATIENCE).await.unwrap();
    assert_eq!(seen.thread.name(), "worker");
    thread.join().unwrap();
}

#[tokio::test]
async fn what_has_happened_already_need_not_be_awaited() {
    let recorder = Recorder::new();
    recorder.record("a", Kind::Constructed);
    recorder.record("b", Kind::Constructed);
    let mut seen = 0;
    let second = recorder.wait_until(PATIENCE, |event| {
        seen += usize::from(event.kind == Kind::Constructed);
        seen == 2
    });
    assert_eq!(&*second.await.unwrap().session, "b");
}

#[tokio::test]
async fn what_does_not_happen_is_reported_with_the_lanes() {
    let recorder = Recorder::new();
    recorder.record("a", Kind::CloseBegin);
    let patience = Duration::from_millis(20);
    let not_seen = recorder.wait_for("a", Kind::Closed, patience).await.unwrap_err();
    let text = not_seen.to_string();
    assert!(text.starts_with("closed of \"a\" was not recorded within 20ms"), "{text}");
    assert!(text.contains("a close_begin"), "{text}");
}

#[test]
fn a_span_records_every_way_out() {
    let recorder = Recorder::new();
    recorder.begin("a", Span::McpExit).end();
    recorder.begin("a", Span::Close).raised();
    drop(recorder.begin("a", Span::Call("count".into())));
    let there = recorder.clone();
    let panicked = thread::spawn(move || {
        let _close = there.begin("b", Span::Close);
        panic!("in close");
    });
    panicked.join().unwrap_err();
    let record = recorder.record_so_far();
    let kinds: Vec<_> = record.events().iter().map(|event| event.kind).collect();
    let expected = [
        Kind::McpExitBegin,
        Kind::McpExit,
        Kind::CloseBegin,
        Kind::CloseRaised,
        Kind::CallBegin,
        Kind::CallCancelled,
        Kind::CloseBegin,
        Kind::CloseRaised,
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn a_watched_thread_tells_its_end_before_it_can_be_joined() {
    let recorder = Recorder::new();
    let there = recorder.clone();
    let thread = thread::spawn(move || {
        there.watch_thread();
        there.watch_thread();
        there.record("a", Kind::Closed);
    });
    thread.join().unwrap();
    let record = recorder.record_so_far();
    record
        .assert_count("", Kind::ThreadWatched, 1)
        .assert_before(("a", Kind::Closed), ("", Kind::ThreadEnded));
}

#[test]
fn sequence_and_time_grow_together_over_all_threads() {
    let recorder = Recorder::new();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..500).for_each(|_| recorder.record("a", Kind::Note)));
        }
    });
    let record = recorder.record_so_far();
    assert_eq!(record.events().len(), 2000);
    assert!(record.events().is_sorted_by_key(|event| (event.sequence, event.at)));
    assert!(record.events().is_sorted_by_key(|event| event.at));
}

#[test]
fn the_event_log_has_a_line_for_each_event() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.jsonl");
    let recorder = Recorder::only_log(&path).unwrap();
    recorder.begin("a", Span::Tool { tool: "slow".into(), tag: "t".into() }).end();
    recorder.begin("a", Span::Close).raised();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["tool_begin", "tool_end", "close_begin", "closed"]);
    assert_eq!((&lines[0]["tool"], &lines[0]["tag"]), (&"slow".into(), &"t".into()));
    assert_eq!(lines[3]["raised"], true);
    assert!(lines[3]["time"].as_f64().unwrap() > 1e9);
    assert!(lines[3]["thread"].is_string() && lines[3]["session"] == "a");
    assert!(recorder.record_so_far().events().is_empty(), "only the log was asked for");
}
