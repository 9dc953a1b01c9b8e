//! What an environment answers.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Failure, Tool};

/// The answer to a [`Call`](super::Call).
#[derive(Clone, Debug)]
pub enum Reply {
    /// To `Metadata`.
    Metadata(Metadata),
    /// To `ListTools`.
    Tools(Arc<[Tool]>),
    /// To `CallTool`.
    ToolResult(ToolResult),
    /// To `Reset` and `Step`.
    Observation(Observation),
    /// To `State`: `episode_id`, `step_count` and whatever else the environment shows.
    State(Map<String, Value>),
    /// To `Tasks`: the list, number or task itself.
    Tasks(Value),
    /// A result that is passed on as it is, in place of `Tools` or `ToolResult`.
    Raw(Box<RawValue>),
}

/// What an environment says about itself.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Metadata {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// A longer text in Markdown.
    pub readme_content: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Who made it.
    pub author: Option<String>,
    /// Where to read more.
    pub documentation_url: Option<String>,
}

impl Metadata {
    /// The metadata of an environment of which only the name is known.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            description: format!("{name} environment"),
            readme_content: None,
            version: Some("1.0.0".into()),
            author: None,
            documentation_url: None,
        }
    }
}

/// What a tool returned.
#[derive(Clone, Debug)]
pub struct ToolResult(Box<RawValue>);

impl ToolResult {
    /// The result of a tool that returned this value. A unit, or anything else that serialises to `null`, is no value.
    ///
    /// # Errors
    /// The value can't be written as JSON.
    pub fn of(value: &impl Serialize) -> Result<Self, Failure> {
        serde_json::value::to_raw_value(value).map(Self).map_err(|error| Failure::Other(error.to_string()))
    }

    /// The value as JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.0.get()
    }
}

/// One piece of text content.
struct Text<'a>(&'a RawValue);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = serializer.serialize_struct("TextContent", 4)?;
        text.serialize_field("type", "text")?;
        // A string is its own text; anything else is shown as JSON.
        match self.0.get().starts_with('"') {
            true => text.serialize_field("text", self.0)?,
            false => text.serialize_field("text", self.0.get())?,
        }
        text.serialize_field("annotations", &())?;
        text.serialize_field("meta", &())?;
        text.end()
    }
}

/// What FastMCP says when it has wrapped a value that is not an object.
#[derive(serde::Serialize)]
struct Wrapped {
    fastmcp: WrapResult,
}

#[derive(serde::Serialize)]
struct WrapResult {
    wrap_result: bool,
}

/// FastMCP's result object, which OpenEnv's clients expect: in snake case, with the value under `data`.
impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = &*self.0;
        let mut result = serializer.serialize_struct("CallToolResult", 5)?;
        match value.get().as_bytes().first() {
            Some(b'n') => {
                result.serialize_field::<[(); 0]>("content", &[])?;
                result.serialize_field("structured_content", &())?;
                result.serialize_field("meta", &())?;
            }
            Some(b'{') => {
                result.serialize_field("content", &[Text(value)])?;
                result.serialize_field("structured_content", value)?;
                result.serialize_field("meta", &())?;
            }
            _ => {
                result.serialize_field("content", &[Text(value)])?;
                result.serialize_field("structured_content", &Only { result: value })?;
                let wrapped = Wrapped { fastmcp: WrapResult { wrap_result: true } };
                result.serialize_field("meta", &wrapped)?;
            }
        }
        result.serialize_field("data", value)?;
        result.serialize_field("is_error", &false)?;
        result.end()
    }
}

#[derive(serde::Serialize)]
struct Only<'a> {
    result: &'a RawValue,
}

/// What a reset or a step shows.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// What is observed, without the members below.
    pub fields: Map<String, Value>,
    /// What else there is to say.
    pub metadata: Map<String, Value>,
    /// A number, a boolean, or nothing.
    pub reward: Option<Value>,
    /// Whether the episode is over.
    pub done: bool,
}

impl Observation {
    /// `observation` on the wire: metadata first, then the fields.
    pub(crate) const fn shown(&self) -> Shown<'_> {
        Shown(self)
    }
}

pub(crate) struct Shown<'a>(&'a Observation);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.0.fields.len()))?;
        map.serialize_entry("metadata", &self.0.metadata)?;
        for (name, value) in &self.0.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(value: &impl Serialize) -> Value {
        serde_json::to_value(ToolResult::of(value).unwrap()).unwrap()
    }

    #[test]
    fn a_scalar_is_wrapped_and_its_text_is_itself() {
        let text = |text: &str| json!([{ "type": "text", "text": text, "annotations": null, "meta": null }]);
        let result = shown(&"hé\"");
        assert_eq!(result["content"], text("hé\""));
        assert_eq!(result["structured_content"], json!({ "result": "hé\"" }));
        assert_eq!(result["meta"], json!({ "fastmcp": { "wrap_result": true } }));
        assert_eq!(shown(&[0, 1, 2])["content"], text("[0,1,2]"));
        assert_eq!(shown(&8)["data"], json!(8));
    }

    #[test]
    fn an_object_is_shown_as_json_and_not_wrapped() {
        let result = shown(&json!({ "message": "x", "length": 1 }));
        assert_eq!(result["content"][0]["text"], r#"{"message":"x","length":1}"#);
        assert_eq!(result["structured_content"], json!({ "message": "x", "length": 1 }));
        assert_eq!(result["meta"], Value::Null);
    }

    #[test]
    fn nothing_has_no_content() {
        let expected = json!({ "content": [], "structured_content": null, "meta": null, "data": null, "is_error": false });
        assert_eq!(shown(&()), expected);
    }
}
