//! OpenEnv's task routes.

use core::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::{Map, Value, json};

use super::route::TaskRoute;
use super::{Inner, answer, body, validate};
use crate::body::Body;
use crate::environment::{Call, Failure, Invalid, Reply, TaskQuery};

impl Inner {
    pub(super) async fn tasks(
        &self,
        route: TaskRoute,
        environment: &str,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let headers = request.headers().clone();
        let query = match body::read(request, self.body_limit).await {
            Ok(_) if route == TaskRoute::Splits => Ok(TaskQuery::Splits),
            Ok(body) => validate::object(&headers, &body).and_then(|body| match body {
                Some(body) => query(route, body),
                None => Err(validate::no_body()),
            }),
            Err(refused) => return refused,
        };
        let query = match query {
            Ok(query) => query,
            Err(problems) => return answer::invalid(&problems),
        };
        if !environment.eq_ignore_ascii_case(&self.about.name) {
            return answer::detail(StatusCode::NOT_FOUND, &format!("unknown environment '{environment}'"));
        }
        let method = query.method();
        match self.ask_once(Call::Tasks(query), Duration::MAX).await {
            Ok(Reply::Tasks(tasks)) => answer::value(StatusCode::OK, &self.told(route, tasks)),
            Ok(_) => answer::unfitting("tasks"),
            Err(super::rest::Trouble::Failed(Failure::Unsupported(_))) => {
                let text = format!("{method} is not supported for this environment");
                answer::detail(StatusCode::NOT_IMPLEMENTED, &text)
            }
            Err(trouble) => trouble.response(),
        }
    }

    fn told(&self, route: TaskRoute, tasks: Value) -> Value {
        match route {
            TaskRoute::Splits => splits(tasks),
            TaskRoute::List => json!({ "tasks": tasks, "env_name": self.about.name }),
            TaskRoute::Count => json!({ "num_tasks": tasks }),
            TaskRoute::Get => json!({ "task": tasks }),
            TaskRoute::Range => json!({ "tasks": tasks }),
        }
    }
}

/// A split that is only named gets a type: its own name if that is one.
fn splits(mut splits: Value) -> Value {
    for split in splits.as_array_mut().into_iter().flatten() {
        if let Value::String(name) = split {
            let kind =
                if matches!(name.as_str(), "train" | "validation" | "test") { &**name } else { "validation" };
            *split = json!({ "name": name, "type": kind });
        }
    }
    splits
}

fn query(route: TaskRoute, mut body: Map<String, Value>) -> Result<TaskQuery, Vec<Invalid>> {
    let whole = Value::Object(body.clone());
    let mut problems = Vec::new();
    let split = match body.shift_remove("split") {
        Some(Value::String(split)) => split,
        Some(other) => {
            problems.push(Invalid::new(
                "string_type",
                &["body", "split"],
                "Input should be a valid string",
                other,
            ));
            String::new()
        }
        None => {
            problems.push(Invalid::missing(&["body", "split"], whole.clone()));
            String::new()
        }
    };
    let mut index = |name| integer(&mut body, name, &mut problems);
    let query = match route {
        TaskRoute::Splits => TaskQuery::Splits,
        TaskRoute::List => TaskQuery::List { split },
        TaskRoute::Count => TaskQuery::Count { split },
        TaskRoute::Range => TaskQuery::Range { split, start: index("start"), stop: index("stop") },
        TaskRoute::Get => {
            let found = index("index");
            if found.is_none() && problems.is_empty() {
                problems.push(Invalid::missing(&["body", "index"], whole));
            }
            TaskQuery::Get { split, index: found.unwrap_or(-1) }
        }
    };
    problems.extend(body.into_iter().map(|(name, value)| Invalid::extra(&["body", &name], value)));
    if problems.is_empty() { Ok(query) } else { Err(problems) }
}

fn integer(body: &mut Map<String, Value>, name: &str, problems: &mut Vec<Invalid>) -> Option<i64> {
    match body.shift_remove(name) {
        None | Some(Value::Null) => None,
        Some(Value::Number(number)) if number.is_i64() => number.as_i64(),
        // Larger than any index: out of range rather than malformed.
        Some(Value::Number(number)) if number.to_string().bytes().all(|digit| digit.is_ascii_digit()) => {
            Some(i64::MAX)
        }
        Some(other) => {
            problems.push(Invalid::new(
                "int_type",
                &["body", name],
                "Input should be a valid integer",
                other,
            ));
            None
        }
    }
}
