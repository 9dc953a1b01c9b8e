//! What describes the service: an OpenAPI document and a page that shows it, without anything from elsewhere.

use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::{Inner, Mode, answer};
use crate::body::Body;

/// Path, method, what it is for.
const ALWAYS: &[(&str, &str, &str)] = &[
    ("/health", "get", "Whether the server answers."),
    ("/livez", "get", "Whether the process is alive."),
    ("/readyz", "get", "Whether new sessions are welcome; 503 from the moment draining begins."),
    ("/metadata", "get", "What the environment says about itself."),
    ("/schema", "get", "JSON Schemas of action, observation and state."),
    ("/mcp", "post", "JSON-RPC: openenv/session/create, openenv/session/close, tools/list, tools/call."),
    ("/list_environments", "get", "The names of the environments."),
    ("/{env_name}/splits", "get", "Which splits of tasks there are."),
    ("/{env_name}/tasks", "post", "All tasks of a split."),
    ("/{env_name}/num_tasks", "post", "How many tasks a split has."),
    ("/{env_name}/task", "post", "One task."),
    ("/{env_name}/task_range", "post", "Some tasks of a split."),
];

const CONTROLS: &[(&str, &str, &str)] = &[
    ("/reset", "post", "Begin an episode in an environment made for this request."),
    ("/step", "post", "Take a step in an environment made for this request."),
    ("/state", "get", "The state of an environment made for this request."),
];

fn operations(inner: &Inner) -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
    ALWAYS.iter().chain(if inner.mode == Mode::Simulation { CONTROLS } else { &[] })
}

pub(super) fn openapi(inner: &Inner) -> Response<Body> {
    let paths: Map<String, Value> = operations(inner).map(operation).collect();
    let schemas = &inner.about.schemas;
    let document = json!({
        "openapi": "3.1.0",
        "info": { "title": "OpenEnv Environment HTTP API", "version": "1.0.0" },
        "paths": paths,
        "components": { "schemas": {
            "Action": schemas.action,
            "Observation": schemas.observation,
            "State": schemas.state,
        } },
        "tags": [{ "name": inner.about.name }],
    });
    answer::value(StatusCode::OK, &document)
}

fn operation((path, method, summary): &(&str, &str, &str)) -> (String, Value) {
    let mut operation = json!({ "summary": summary, "responses": { "200": { "description": "OK" } } });
    if path.contains("{env_name}") {
        let schema = json!({ "type": "string" });
        operation["parameters"] =
            json!([{ "name": "env_name", "in": "path", "required": true, "schema": schema }]);
    }
    if *method == "post" {
        operation["requestBody"] =
            json!({ "content": { "application/json": { "schema": { "type": "object" } } } });
    }
    ((*path).to_owned(), json!({ *method: operation }))
}

pub(super) fn page(inner: &Inner) -> Response<Body> {
    let rows: String = operations(inner)
        .map(|(path, method, summary)| {
            format!(
                "<tr><td><code>{}</code></td><td><code>{path}</code></td><td>{summary}</td></tr>\n",
                method.to_uppercase()
            )
        })
        .collect();
    let name = escaped(&inner.about.class);
    answer::html(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{name}</title>\n\
         <style>body{{font-family:sans-serif;margin:2em}}td{{padding:.2em 1em .2em 0}}</style></head>\n\
         <body>\n<h1>{name}</h1>\n<p>An OpenEnv environment. The document for machines is \
         <a href=\"/openapi.json\">/openapi.json</a>.</p>\n<table>\n{rows}</table>\n</body>\n</html>\n"
    ))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
