use serde_json::{Value, json};
use session_core::CloseReason;

use crate::world::{World, request};

#[tokio::test]
async fn a_session_keeps_its_state_between_requests_and_is_gone_after_its_close() {
    let world = World::new().await;
    let mut client = world.rpc().await;
    let session = client.create().await.unwrap();
    for expected in [2, 4] {
        let result = client.call(&session, "counter_add", json!({ "n": 2 })).await.unwrap();
        assert_eq!(result["data"], expected);
    }
    assert_eq!(client.close(&session).await.unwrap()["closed"], true);
    assert_eq!(world.control.status().books.open, 0, "answered after the teardown");
    let params = json!({ "name": "counter_get", "session_id": session });
    let response = client.http().post("/mcp", &request("tools/call", params)).await.unwrap();
    assert_eq!(response.header("session-ended"), Some("requested"));
    assert_eq!(response.json().unwrap()["error"]["message"], format!("Unknown session_id: {session}"));
    world.end().await;
}

#[tokio::test]
async fn an_id_is_echoed_exactly() {
    let world = World::new().await;
    let mut client = world.http().await;
    for id in ["18446744073709551616", "\"a\\u0062\"", "-0", "null"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"nope"}}"#);
        client.send("POST", "/mcp", body.as_bytes()).await.unwrap();
        let answer = client.receive().await.unwrap();
        let text = String::from_utf8(answer.body.to_vec()).unwrap();
        assert!(text.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error""#)), "{text}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_refused_request_builds_nothing() {
    let world = World::new().await;
    let mut client = world.http().await;
    let mut bodies =
        vec!["", "{", "[]", "{}", "5", "{\"jsonrpc\":\"2.0\",\"method\":\"openenv/session/create\"}"];
    let params = [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": 5 }),
        json!({ "name": "add", "session_id": "" }),
        json!({ "name": "add", "session_id": "nobody" }),
        json!({ "name": "add", "session_id": [1] }),
    ];
    let calls: Vec<String> =
        params.into_iter().map(|params| request("tools/call", params).to_string()).collect();
    bodies.extend(calls.iter().map(String::as_str));
    for body in bodies {
        client.send("POST", "/mcp", body.as_bytes()).await.unwrap();
        client.receive().await.unwrap();
    }
    for (method, path) in
        [("GET", "/mcp"), ("DELETE", "/mcp"), ("HEAD", "/state"), ("GET", "/ws"), ("PUT", "/x")]
    {
        client = world.http().await; // HEAD has no body to read: a connection of its own each
        client.send(method, path, b"").await.unwrap();
    }
    client = world.http().await;
    client.get("/health").await.unwrap();
    assert_eq!(world.control.status().books.open, 0);
    let exit = world.exit().await;
    assert_eq!(exit.sessions.closed.values().sum::<u64>(), 0, "{exit}");
}

#[tokio::test]
async fn a_call_without_a_session_is_a_life_of_its_own() {
    let world = World::new().await;
    let mut client = world.http().await;
    for _ in 0..2 {
        let params = json!({ "name": "counter_add" });
        let answer = client.post("/mcp", &request("tools/call", params)).await.unwrap().json().unwrap();
        assert_eq!(answer["result"]["data"], 1);
    }
    let exit = world.exit().await;
    assert_eq!(exit.sessions.closed.get(&CloseReason::OneShotDone), Some(&2), "{exit}");
}

#[tokio::test]
async fn what_does_not_fit_a_tool_is_told_and_costs_nothing() {
    let world = World::new().await;
    let mut client = world.rpc().await;
    let session = client.create().await.unwrap();
    let wrong = [
        ("add", json!({ "a": 1 })),
        ("add", json!({ "a": "x", "b": 1 })),
        ("add", json!({ "a": 1, "b": 2, "c": 3 })),
        ("add", json!([1])),
        ("slow", json!({ "seconds": -1 })),
        ("big_text", json!({ "n": i64::MAX })),
        ("no_such_tool", json!({})),
    ];
    for (tool, arguments) in wrong {
        let params = json!({ "name": tool, "arguments": arguments, "session_id": session });
        let answer =
            client.http().post("/mcp", &request("tools/call", params)).await.unwrap().json().unwrap();
        assert_eq!(answer["error"]["code"], -32602, "{tool}: {answer}");
    }
    assert_eq!(client.call(&session, "add", json!({ "a": 5, "b": 3 })).await.unwrap()["data"], 8);
    let failed = client.ask("tools/call", json!({ "name": "fail", "arguments": { "message": "no" } })).await;
    assert!(failed.unwrap_err().to_string().contains("Error calling tool 'fail': no"));
    world.end().await;
}

#[tokio::test]
async fn a_notification_has_no_answer() {
    let world = World::new().await;
    let mut client = world.http().await;
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let response = client.post("/mcp", &notification).await.unwrap();
    assert_eq!((response.status, response.body.len()), (202, 0));
    assert_eq!(client.get("/health").await.unwrap().json().unwrap(), json!({ "status": "healthy" }));
    world.end().await;
}

#[tokio::test]
async fn tools_are_listed_with_their_schemas() {
    let world = World::new().await;
    let listed = world.rpc().await.ask("tools/list", json!({})).await.unwrap();
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 11);
    assert!(
        tools.iter().all(|tool| tool["description"].is_string() && tool["inputSchema"]["type"] == "object")
    );
    assert_eq!(tools[0]["title"], Value::Null);
    world.end().await;
}
