//! The reference server as a process: what a judge in another language sees of it.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use session_testkit::http::RpcClient;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_reference-server");

/// A reference server with these settings; killed if the test fails.
struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Server {
    fn start(executor: &str, settings: &[(&str, &str)]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["--port", "0", "--executor", executor]).env("RUST_LOG", "info").stderr(Stdio::piped());
        let mut child = command.envs(settings.iter().copied()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening on http://") {
            line.clear();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended before it listened");
        }
        let address = line.trim_end().rsplit("http://").next().unwrap().parse().unwrap();
        Self { child, stderr, address }
    }

    /// Sends SIGTERM; the exit code and the last words.
    fn terminate(mut self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let mut words = String::new();
        std::io::Read::read_to_string(&mut self.stderr, &mut words).unwrap();
        (self.child.wait().unwrap().code(), words)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn events(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_session_that_is_open_at_sigterm_is_torn_down_in_order_on_its_thread() {
    for executor in ["per-session", "shared", "pinned"] {
        let log = tempfile::tempdir().unwrap();
        let log = log.path().join("events.jsonl");
        let server = Server::start(executor, &[("REF_EVENT_LOG", log.to_str().unwrap())]);
        let mut client = RpcClient::connect(server.address).await.unwrap();
        let session = client.create().await.unwrap();
        client.call(&session, "slow", json!({"seconds": 0, "tag": "t"})).await.unwrap();
        let (code, words) = server.terminate();
        assert_eq!(code, Some(0), "{words}");
        assert!(words.contains("1 session closed (1 shutdown), 0 abandoned"), "{words}");
        let events = events(&log);
        let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
        let life = ["constructing", "constructed", "mcp_enter", "tool_begin", "tool_end"];
        let end = ["mcp_exit_begin", "mcp_exit", "close_begin", "closed"];
        assert_eq!(names, [life.as_slice(), &end].concat());
        let home = &events[0]["thread"];
        assert!(events.iter().all(|event| event["thread"] == *home && event["session"] == *session));
    }
}

#[tokio::test]
async fn a_close_that_raises_is_logged_once() {
    let log = tempfile::tempdir().unwrap();
    let log = log.path().join("events.jsonl");
    let settings = [("REF_EVENT_LOG", log.to_str().unwrap()), ("REF_CLOSE_RAISES", "all")];
    let server = Server::start("per-session", &settings);
    let mut client = RpcClient::connect(server.address).await.unwrap();
    client.create().await.unwrap();
    let (code, words) = server.terminate();
    assert_eq!(code, Some(0), "to fail is not to be left behind: {words}");
    assert!(words.contains("close failed") && words.contains("close() was told to raise"), "{words}");
    let closed: Vec<_> = events(&log).into_iter().filter(|event| event["event"] == "closed").collect();
    assert_eq!(closed.len(), 1);
    assert_eq!(closed[0]["raised"], true);
}

#[tokio::test]
async fn a_close_that_hangs_is_named_and_told_by_the_exit_code() {
    let server = Server::start("per-session", &[("REF_CLOSE_HANG", "0"), ("REF_GRACE_S", "0.2")]);
    let mut client = RpcClient::connect(server.address).await.unwrap();
    let session = client.create().await.unwrap();
    let (code, words) = server.terminate();
    assert_eq!(code, Some(1), "{words}");
    assert!(words.contains(&format!("session {session} (shutdown): close abandoned")), "{words}");
}

#[test]
fn settings_that_make_no_sense_are_a_usage_error() {
    let output = Command::new(PROGRAM).env("REF_CLOSE_RAISES", "sometimes").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("REF_CLOSE_RAISES"));
}

#[tokio::test]
async fn a_planted_session_is_still_being_opened_until_the_server_drains() {
    let planted = "deadbeef-0000-4000-8000-000000000000";
    let server = Server::start("per-session", &[("REF_FAKE_PENDING_SESSION", planted)]);
    let mut client = RpcClient::connect(server.address).await.unwrap();
    for method in ["tools/list", "openenv/session/close", "openenv/session/close"] {
        let refused = client.ask(method, json!({ "session_id": planted })).await.unwrap_err().to_string();
        assert!(refused.contains("is still initializing; retry shortly"), "{refused}");
    }
    let (code, words) = server.terminate();
    assert_eq!(code, Some(0), "{words}");
}
