//! What `/reset`, `/step` and the task routes accept, and what they say about the rest, as pydantic would.

use core::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Number, Value};

use crate::environment::{Action, ActionKind, Arguments, Invalid, Reset, Step, ToolCall};

/// The most characters of an episode's or a request's id.
const MAX_ID: usize = 255;

type Problems = Vec<Invalid>;

/// One value, or what is wrong with it.
type Checked<T> = Result<T, Box<Invalid>>;

fn wrong<T>(kind: &'static str, loc: &[&str], msg: impl Into<String>, input: Value) -> Checked<T> {
    Err(Box::new(Invalid::new(kind, loc, msg, input)))
}

/// The body as a JSON object; `None` if there is no body.
pub(super) fn object(headers: &HeaderMap, body: &Bytes) -> Result<Option<Map<String, Value>>, Problems> {
    if body.is_empty() {
        return Ok(None);
    }
    let not_an_object = |input| {
        let text = "Input should be a valid dictionary or object to extract fields from";
        vec![Invalid::new("model_attributes_type", &["body"], text, input)]
    };
    if !is_json(headers) {
        return Err(not_an_object(Value::from(String::from_utf8_lossy(body).into_owned())));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(map)) => Ok(Some(map)),
        Ok(Value::Null) => Ok(None),
        Ok(other) => Err(not_an_object(other)),
        Err(error) => {
            let mut problem =
                Invalid::new("json_invalid", &["body"], "JSON decode error", Value::Object(Map::new()));
            problem.loc.push(error.column().into());
            problem.msg = format!("JSON decode error: {error}");
            Err(vec![problem])
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

fn missing<T>(loc: &[&str], input: Value) -> Checked<T> {
    Err(Box::new(Invalid::missing(loc, input)))
}

/// A missing body where one is needed.
pub(super) fn no_body() -> Problems {
    vec![Invalid::missing(&["body"], Value::Null)]
}

pub(super) fn reset(mut body: Map<String, Value>) -> Result<Reset, Problems> {
    let mut problems = Vec::new();
    let seed = body.shift_remove("seed").and_then(|seed| keep(self::seed(seed), &mut problems)).flatten();
    let episode_id = body.shift_remove("episode_id");
    let episode_id = episode_id.and_then(|id| keep(text("episode_id", id), &mut problems)).flatten();
    match problems.is_empty() {
        true => Ok(Reset { seed, episode_id, options: body }),
        false => Err(problems),
    }
}

fn keep<T>(checked: Checked<T>, problems: &mut Problems) -> Option<T> {
    checked.map_err(|problem| problems.push(*problem)).ok()
}

/// A whole number that is not negative, of any size; also as a text, a float or a boolean, as pydantic is lax.
fn seed(value: Value) -> Checked<Option<Number>> {
    let loc = ["body", "seed"];
    let digits = match &value {
        Value::Null => return Ok(None),
        Value::Bool(truth) => u8::from(*truth).to_string(),
        Value::String(text) => text.trim().trim_start_matches('+').to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Array(_) | Value::Object(_) => {
            return wrong("int_type", &loc, "Input should be a valid integer", value);
        }
    };
    let whole = match digits.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0') => {
            whole
        }
        Some(_) => {
            let text = "Input should be a valid integer, got a number with a fractional part";
            return wrong("int_from_float", &loc, text, value);
        }
        None => &digits,
    };
    if whole.len() > 1 && whole.starts_with('-') && whole.bytes().skip(1).all(|digit| digit.is_ascii_digit())
    {
        let text = "Input should be greater than or equal to 0";
        return wrong("greater_than_equal", &loc, text, value);
    }
    let significant = whole.trim_start_matches('0');
    let significant = if significant.is_empty() && !whole.is_empty() { "0" } else { significant };
    let is_whole = !significant.is_empty() && significant.bytes().all(|digit| digit.is_ascii_digit());
    match significant.parse::<Number>() {
        Ok(number) if is_whole => Ok(Some(number)),
        Ok(_) | Err(_) => wrong("int_parsing", &loc, "Input should be a valid integer", value),
    }
}

fn text(name: &str, value: Value) -> Checked<Option<String>> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.chars().count() <= MAX_ID => Ok(Some(text)),
        Value::String(_) => {
            let msg = format!("String should have at most {MAX_ID} characters");
            wrong("string_too_long", &["body", name], msg, value)
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            wrong("string_type", &["body", name], "Input should be a valid string", value)
        }
    }
}

/// A step, and how long it may take if the client says so.
pub(super) fn step(
    mut body: Map<String, Value>,
    kind: ActionKind,
) -> Result<(Step, Option<Duration>), Problems> {
    let whole = Value::Object(body.clone());
    let mut problems = Vec::new();
    let action = match body.shift_remove("action") {
        None => keep(missing(&["body", "action"], whole), &mut problems),
        Some(Value::Object(action)) => Some(action),
        Some(other) => {
            let text = "Input should be a valid dictionary";
            keep(wrong("dict_type", &["body", "action"], text, other), &mut problems)
        }
    };
    let timeout = body.shift_remove("timeout_s");
    let timeout = timeout.and_then(|timeout| keep(self::timeout(timeout), &mut problems)).flatten();
    if let Some(id) = body.shift_remove("request_id") {
        keep(text("request_id", id), &mut problems);
    }
    let Some(action) = action.filter(|_| problems.is_empty()) else { return Err(problems) };
    let action = match kind {
        ActionKind::Tools => tool_action(action)?,
        ActionKind::Typed => Action::Typed(action),
    };
    Ok((Step { action, options: body }, timeout))
}

fn timeout(value: Value) -> Checked<Option<Duration>> {
    let loc = ["body", "timeout_s"];
    let seconds = match &value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    match seconds {
        None => wrong("float_type", &loc, "Input should be a valid number", value),
        Some(seconds) if seconds > 0.0 => {
            // Longer than a duration can be is as good as for ever.
            Ok(Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)))
        }
        Some(_) => wrong("greater_than", &loc, "Input should be greater than 0", value),
    }
}

/// `{"type": "list_tools"}` or `{"type": "call_tool", "tool_name": .., "arguments": {..}}`, which is the default.
pub(super) fn tool_action(mut action: Map<String, Value>) -> Result<Action, Problems> {
    let whole = Value::Object(action.clone());
    let mut problems = Vec::new();
    let kind = action.shift_remove("type");
    let lists = kind.as_ref().is_some_and(|kind| kind == "list_tools");
    if let Some(kind) = kind.filter(|kind| kind != "call_tool" && !lists) {
        problems.push(Invalid::new(
            "literal_error",
            &["type"],
            "Input should be 'call_tool' or 'list_tools'",
            kind,
        ));
    }
    if let Some(metadata) = action.shift_remove("metadata").filter(|metadata| !metadata.is_object()) {
        problems.push(Invalid::new(
            "dict_type",
            &["metadata"],
            "Input should be a valid dictionary",
            metadata,
        ));
    }
    let call = (!lists).then(|| take_tool_call(&mut action, &whole, &mut problems)).flatten();
    problems.extend(action.into_iter().map(|(name, value)| Invalid::extra(&[&name], value)));
    match (problems.is_empty(), call) {
        (true, Some(call)) => Ok(Action::CallTool(call)),
        (true, None) => Ok(Action::ListTools),
        (false, _) => Err(problems),
    }
}

fn take_tool_call(
    action: &mut Map<String, Value>,
    whole: &Value,
    problems: &mut Problems,
) -> Option<ToolCall> {
    let name = match action.shift_remove("tool_name") {
        Some(Value::String(name)) => Some(name),
        None => keep(missing(&["tool_name"], whole.clone()), problems),
        Some(other) => {
            let text = "Input should be a valid string";
            keep(wrong("string_type", &["tool_name"], text, other), problems)
        }
    };
    let arguments = match action.shift_remove("arguments") {
        None => Some(Arguments::default()),
        Some(Value::Object(arguments)) => Some(Arguments::from(arguments)),
        Some(other) => {
            let text = "Input should be a valid dictionary";
            keep(wrong("dict_type", &["arguments"], text, other), problems)
        }
    };
    Some(ToolCall { name: name?, arguments: arguments? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seed_of(value: Value) -> Result<String, &'static str> {
        seed(value).map(|seed| seed.unwrap().to_string()).map_err(|problem| problem.kind)
    }

    #[test]
    fn a_seed_is_a_whole_number_of_any_size_in_many_spellings() {
        let huge: Value = serde_json::from_str("1180591620717411303424").unwrap();
        assert_eq!(seed_of(huge).unwrap(), "1180591620717411303424");
        for (value, seed) in [(json!("42"), "42"), (json!(1.0), "1"), (json!(true), "1"), (json!("007"), "7")]
        {
            assert_eq!(seed_of(value).unwrap(), seed);
        }
        assert_eq!(seed_of(json!(0)).unwrap(), "0");
    }

    #[test]
    fn other_seeds_are_told_apart() {
        for (value, kind) in [
            (json!(-1), "greater_than_equal"),
            (json!(1.5), "int_from_float"),
            (json!("x"), "int_parsing"),
            (json!(""), "int_parsing"),
            (json!([1]), "int_type"),
        ] {
            assert_eq!(seed_of(value), Err(kind));
        }
    }

    #[test]
    fn an_action_says_everything_that_is_wrong_with_it() {
        let Value::Object(action) = json!({ "type": "fly", "arguments": [1], "x": 1 }) else {
            unreachable!()
        };
        let kinds: Vec<_> = tool_action(action).unwrap_err().iter().map(|problem| problem.kind).collect();
        assert_eq!(kinds, ["literal_error", "missing", "dict_type", "extra_forbidden"]);
    }
}
