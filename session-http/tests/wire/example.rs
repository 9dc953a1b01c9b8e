//! The example of the README, as it is printed there, runs.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use session_testkit::http::RpcClient;

const EXAMPLE: &str = include_str!("../../examples/counter.rs");
const README: &str = include_str!("../../../README.md");

#[test]
fn the_readme_shows_the_example_as_it_is() {
    let shown = &EXAMPLE[EXAMPLE.find("/// What a session keeps alive.").unwrap()..];
    assert!(README.contains(shown.trim_end()), "README.md shows another examples/counter.rs");
}

/// Cargo builds examples along with the tests of a package, but not with one test alone.
fn example() -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let path = deps.parent().unwrap().parent().unwrap().join("examples/counter");
    if !path.exists() {
        let build = ["build", "--package", "session-http", "--example", "counter"];
        assert!(Command::new(env!("CARGO")).args(build).status().unwrap().success());
    }
    path
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn connect(address: SocketAddr) -> RpcClient {
    loop {
        match RpcClient::connect(address).await {
            Ok(client) => return client,
            // sleep: the example says nothing when it listens, so that it stays short.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

#[tokio::test]
async fn the_example_counts_and_closes_its_session_at_the_signal() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let child = Command::new(example()).arg(free.to_string()).stdout(Stdio::piped()).spawn().unwrap();
    let mut child = Killed(child);
    let mut client = tokio::time::timeout(Duration::from_secs(30), connect(free)).await.unwrap();
    let session = client.create().await.unwrap();
    client.call(&session, "add", json!({ "n": 2 })).await.unwrap();
    assert_eq!(client.call(&session, "add", json!({ "n": 3 })).await.unwrap()["data"], 5);
    let pid = child.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let said: Vec<String> =
        BufReader::new(child.0.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
    assert_eq!(said[0], "closed at 5");
    assert!(said[1].contains("1 session closed (1 shutdown), 0 abandoned"), "{said:?}");
}
