//! The members of `params` that mean anything here; of duplicates the last.

use core::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::jsonrpc::Key;

#[derive(Debug, Default)]
pub(super) struct Params<'a> {
    pub(super) session_id: Option<&'a RawValue>,
    pub(super) name: Option<&'a RawValue>,
    pub(super) arguments: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    /// Reads an object that is known to be one.
    pub(super) fn read(params: Option<&'a RawValue>) -> Self {
        params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Params<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Objects;
        impl<'de> Visitor<'de> for Objects {
            type Value = Params<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("params")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Params<'de>, A::Error> {
                let mut params = Params::default();
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        "session_id" => params.session_id = Some(map.next_value()?),
                        "name" => params.name = Some(map.next_value()?),
                        "arguments" => params.arguments = Some(map.next_value()?),
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(params)
            }
        }
        deserializer.deserialize_map(Objects)
    }
}
