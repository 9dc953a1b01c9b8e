use serde_json::json;

use crate::world::{World, request};

#[tokio::test]
async fn at_capacity_a_creation_is_refused_at_once_with_both_numbers() {
    let world = World::with(|config| config.capacity(2), |service| service).await;
    let mut client = world.rpc().await;
    let first = client.create().await.unwrap();
    client.create().await.unwrap();
    let create = request("openenv/session/create", json!({}));
    let refused = client.http().post("/mcp", &create).await.unwrap().json().unwrap();
    assert_eq!(refused["error"]["code"], -32000);
    assert_eq!(refused["error"]["data"], json!({ "active_sessions": 2, "max_sessions": 2 }));
    client.close(&first).await.unwrap();
    client.create().await.unwrap();
    world.end().await;
}

#[tokio::test]
async fn b06_creations_at_the_same_moment_do_not_overshoot_the_cap() {
    let world = World::with(|config| config.capacity(4), |service| service).await;
    let mut clients = Vec::new();
    for _ in 0..50 {
        let mut client = world.rpc().await;
        clients.push(tokio::spawn(async move { client.create().await.is_ok() }));
    }
    let mut opened = 0;
    for client in clients {
        opened += usize::from(client.await.unwrap());
    }
    assert_eq!((opened, world.control.status().books.open), (4, 4));
    world.end().await;
}
