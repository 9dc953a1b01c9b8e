use serde_json::json;
use session_http::Mode;

use crate::world::World;

#[tokio::test]
async fn reset_step_and_state_build_an_environment_each() {
    let world = World::new().await;
    let mut client = world.http().await;
    let reset = client.post("/reset", &json!({ "seed": "42", "episode_id": "e", "level": 3 })).await.unwrap();
    let body = reset.json().unwrap();
    assert_eq!(body["observation"]["metadata"]["options"], json!({ "level": 3 }));
    assert_eq!((&body["reward"], &body["done"]), (&json!(0.0), &json!(false)));
    let action = json!({ "action": { "tool_name": "add", "arguments": { "a": 1, "b": 2 } } });
    let step = client.post("/step", &action).await.unwrap().json().unwrap();
    assert_eq!(step["observation"]["result"]["data"], 3);
    assert_eq!(step["metadata"], json!(null));
    assert_eq!(client.get("/state").await.unwrap().json().unwrap()["step_count"], 0);
    world.end().await;
}

#[tokio::test]
async fn a_step_that_takes_too_long_is_an_observation_and_its_call_is_cancelled() {
    let world = World::new().await;
    let action = json!({ "tool_name": "slow", "arguments": { "seconds": 600 } });
    let body = json!({ "action": action, "timeout_s": 0.05 });
    let answer = world.http().await.post("/step", &body).await.unwrap().json().unwrap();
    let error = json!({ "error_type": "timeout", "message": "Tool 'slow' timed out after 0.05 seconds" });
    assert_eq!(answer["observation"]["error"], error);
    let exit = world.exit().await;
    assert!(exit.took.as_secs() < 5, "nothing was waited for: {exit}");
}

#[tokio::test]
async fn production_has_no_controls() {
    let world = World::with(|config| config, |service| service.mode(Mode::Production)).await;
    let mut client = world.http().await;
    for (method, path) in [("POST", "/reset"), ("POST", "/step"), ("GET", "/state")] {
        client.send(method, path, b"").await.unwrap();
        assert_eq!(client.receive().await.unwrap().status, 404, "{path}");
    }
    let openapi = client.get("/openapi.json").await.unwrap().json().unwrap();
    assert!(openapi["paths"].get("/reset").is_none() && openapi["paths"].get("/mcp").is_some());
    world.end().await;
}

#[tokio::test]
async fn every_document_is_there() {
    let world = World::new().await;
    let mut client = world.http().await;
    for path in ["/health", "/livez", "/readyz", "/metadata", "/schema", "/openapi.json", "/docs", "/redoc"] {
        assert_eq!(client.get(path).await.unwrap().status, 200, "{path}");
    }
    assert_eq!(client.get("/list_environments").await.unwrap().json().unwrap(), json!(["echo_env"]));
    assert_eq!(client.get("/other/splits").await.unwrap().status, 404);
    assert_eq!(client.get("/Echo_Env/splits").await.unwrap().status, 501);
    world.end().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_step_is_all_told() {
    let world = World::new().await;
    let action = json!({ "type": "call_tool", "arguments": [1], "x": 1 });
    let response = world.http().await.post("/step", &json!({ "action": action })).await.unwrap();
    assert_eq!(response.status, 422);
    let detail = response.json().unwrap()["detail"].clone();
    let kinds: Vec<_> = detail.as_array().unwrap().iter().map(|problem| problem["type"].clone()).collect();
    assert_eq!(kinds, ["missing", "dict_type", "extra_forbidden"]);
    world.end().await;
}
