//! What a tool is called and what it takes.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// A tool, as it is listed.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub input_schema: Value,
}

impl Tool {
    /// A tool whose arguments are `Parameters`: derive `serde::Deserialize` and `schemars::JsonSchema` for it, with
    /// `#[serde(deny_unknown_fields)]` to refuse what the tool doesn't know.
    #[must_use]
    pub fn new<Parameters: JsonSchema>(name: &str, description: &str) -> Self {
        Self { name: name.into(), description: description.into(), input_schema: schema_of::<Parameters>() }
    }
}

/// The schema of a type without what says more about Rust than about the tool: titles, and formats of numbers.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Value::Object(root) = &mut schema {
        root.shift_remove("title");
        root.entry("properties").or_insert_with(|| Map::new().into());
    }
    strip_number_formats(&mut schema);
    schema
}

fn strip_number_formats(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if matches!(map.get("type").and_then(Value::as_str), Some("integer" | "number")) {
                map.shift_remove("format");
            }
            map.values_mut().for_each(strip_number_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_number_formats),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
