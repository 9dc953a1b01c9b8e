use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn a_body_that_is_announced_too_large_is_refused_before_it_is_read() {
    let world = World::with(|config| config, |service| service.body_limit(1000)).await;
    let mut client = world.http().await;
    client.send("POST", "/mcp", &[b' '; 100_000]).await.unwrap();
    let response = client.receive().await.unwrap();
    assert_eq!(response.status, 413);
    assert!(response.json().unwrap()["detail"].as_str().unwrap().contains("1000 bytes"));
    // Another connection, and the one that was in the middle of it, are served.
    assert_eq!(world.http().await.get("/health").await.unwrap().status, 200);
    world.end().await;
}

#[tokio::test]
async fn a_body_of_just_the_limit_is_read() {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "nope" });
    let length = body.to_string().len();
    let world = World::with(|config| config, |service| service.body_limit(length)).await;
    assert_eq!(world.http().await.post("/mcp", &body).await.unwrap().status, 200);
    world.end().await;
}
