//! The end, as the system and the operator see it.

use serde_json::{Value, json};

use crate::program::{Program, answer, rpc};

fn ends_cleanly(signal: &str, arguments: &[&str]) {
    let program = Program::serve(arguments);
    let sessions = [program.open(), program.open(), program.open()];
    program.rpc("openenv/session/close", &json!({"session_id": sessions[0]}));
    program.signal(signal);
    let end = program.end();
    assert_eq!(end.code, Some(0), "{end:?}");
    let summary = end.said.iter().find(|line| line.starts_with("shutdown took")).unwrap();
    assert!(summary.contains("3 sessions closed (1 requested, 2 shutdown), 0 abandoned"), "{summary}");
    assert_eq!(end.said.last().unwrap(), "connections: 4 served, 0 refused, 0 cut");
}

#[test]
fn sigterm_closes_the_open_sessions_and_says_so() {
    for executor in ["per-session", "shared", "pinned", "none"] {
        ends_cleanly("-TERM", &["--executor", executor]);
    }
}

#[test]
fn sigint_does_too() {
    ends_cleanly("-INT", &[]);
}

#[test]
fn a_second_signal_forces_and_the_call_that_is_cut_gets_an_answer() {
    let program = Program::serve(&["--executor", "none", "--workers", "1", "--log-format", "json"]);
    let session = program.open();
    let call = json!({"session_id": session, "name": "slow", "arguments": {"seconds": 60}});
    let calling = program.send("POST", "/mcp", &rpc("tools/call", &call));
    // A whole session's life after it, on the one thread there is: by then the call has begun.
    let other = program.open();
    program.rpc("openenv/session/close", &json!({"session_id": other}));
    program.signal("-TERM");
    program.line("draining");
    program.signal("-TERM");
    let end = program.end();
    assert_eq!(end.code, Some(0), "{end:?}");
    assert!(end.said.iter().any(|line| line.starts_with("forced shutdown took")), "{end:?}");
    let (_, body) = answer(calling);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["id"], 1, "{body}");
    assert!(body.get("error").is_some(), "{body}");
}

#[test]
fn the_log_is_json_off_a_terminal_with_a_line_for_each_sessions_end() {
    let program = Program::serve(&[]);
    let budget = program.line("a shutdown takes at most");
    assert!(budget.contains("29.50 s"), "{budget}");
    let session = program.open();
    program.rpc("openenv/session/close", &json!({"session_id": session}));
    let line: Value = serde_json::from_str(&program.line("session ended")).unwrap();
    assert_eq!(line["level"], "INFO");
    assert_eq!(
        (&line["session"], &line["reason"], &line["faults"]),
        (&json!(session), &json!("requested"), &json!(0))
    );
    assert!(line["duration"].is_string(), "{line}");
    program.signal("-TERM");
    assert_eq!(program.end().code, Some(0));
}

#[test]
fn a_step_that_went_wrong_is_a_warning_with_its_session() {
    let program = Program::serve(&["--executor", "none", "--workers", "1", "--drain-timeout", "50ms"]);
    let session = program.open();
    let call = json!({"session_id": session, "name": "slow", "arguments": {"seconds": 60}});
    let calling = program.send("POST", "/mcp", &rpc("tools/call", &call));
    // A whole session's life after it, on the one thread there is: by then the call has begun.
    let other = program.open();
    program.rpc("openenv/session/close", &json!({"session_id": other}));
    program.rpc("openenv/session/close", &json!({"session_id": session}));
    let line: Value = serde_json::from_str(&program.line("\"step\"")).unwrap();
    assert_eq!(
        (&line["level"], &line["session"], &line["step"]),
        (&json!("WARN"), &json!(session), &json!("drain"))
    );
    assert_eq!(line["message"], "a session's step did not end well");
    drop(calling);
    program.signal("-TERM");
    assert_eq!(program.end().code, Some(0));
}

#[test]
fn it_is_unready_during_the_lame_duck_and_serves_on() {
    let program = Program::serve(&["--lame-duck", "1h"]);
    assert_eq!(program.ask("GET", "/readyz", "").0, 200);
    program.signal("-TERM");
    program.line("unready");
    assert_eq!(program.ask("GET", "/readyz", "").0, 503);
    assert_eq!(program.ask("GET", "/livez", "").0, 200);
    program.open();
    program.signal("-TERM");
    assert_eq!(program.end().code, Some(0));
}

#[test]
fn nobody_who_reads_what_it_says_does_not_keep_it_from_ending() {
    let program = Program::serve_unread(&["--log", "debug", "--workers", "1", "--executor", "none"]);
    // Some ten lines each: far more than a pipe holds.
    for _ in 0..500 {
        program.open();
    }
    program.signal("-TERM");
    assert_eq!(program.code(), Some(0));
}
