//! JSON-RPC 2.0 requests and answers: what is read, what is said, and every code and text in one place.
//!
//! <https://www.jsonrpc.org/specification>

use core::fmt;
use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A request as it was sent. The raw members borrow from the text.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// Exactly as it was sent; `None` makes it a notification.
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) method: Cow<'a, str>,
    /// A JSON object, or nothing.
    pub(crate) params: Option<&'a RawValue>,
}

/// A request that can't be one, with the id if it could be read.
#[derive(Debug)]
pub(crate) struct Unreadable<'a> {
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) error: Error,
}

/// An error answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Error {
    pub(crate) code: i32,
    pub(crate) message: String,
    /// `null` if there is no more to say.
    pub(crate) data: Value,
}

impl Error {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Value::Null }
    }

    pub(crate) fn parse() -> Self {
        Self::new(-32700, "Parse error")
    }

    pub(crate) fn invalid_request(text: impl Into<String>) -> Self {
        Self::new(-32600, text)
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::new(-32601, format!("Method not found: {method}"))
    }

    pub(crate) fn invalid_params(text: impl Into<String>) -> Self {
        Self::new(-32602, text)
    }

    pub(crate) fn internal(text: impl Into<String>) -> Self {
        Self::new(-32603, text)
    }

    /// The server can't do it now; `data` says more.
    pub(crate) fn server(text: impl Into<String>, data: Value) -> Self {
        Self { data, ..Self::new(-32000, text) }
    }
}

/// The members of a JSON object that make a request; of duplicates the last.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    unknown: Option<Cow<'a, str>>,
}

/// A key of an object, borrowed if it has no escapes.
pub(crate) struct Key<'a>(pub(crate) Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.into())))
            }
        }
        deserializer.deserialize_str(Keys)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Objects;
        impl<'de> Visitor<'de> for Objects {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC request")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Members::default();
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        "jsonrpc" => members.jsonrpc = Some(map.next_value()?),
                        "method" => members.method = Some(map.next_value()?),
                        "params" => members.params = Some(map.next_value()?),
                        "id" => members.id = Some(map.next_value()?),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            members.unknown = Some(key);
                        }
                    }
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Objects)
    }
}

/// Reads a request.
///
/// A UTF-8 byte order mark is skipped, as OpenEnv's server does. The depth of `params` is of no concern here: it is
/// skipped without recursion.
pub(crate) fn read(body: &[u8]) -> Result<Request<'_>, Unreadable<'_>> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let Ok(text) = core::str::from_utf8(body) else {
        return Err(Unreadable { id: None, error: Error::parse() });
    };
    if !text.trim_start().starts_with('{') {
        return Err(Unreadable { id: None, error: not_an_object(text) });
    }
    match serde_json::from_str::<Members<'_>>(text) {
        Ok(members) => validate(&members),
        Err(_) => Err(Unreadable { id: None, error: Error::parse() }),
    }
}

fn not_an_object(text: &str) -> Error {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => {
            Error::invalid_request("Invalid request: one JSON object is expected; batches are not supported")
        }
        Err(_) => Error::parse(),
    }
}

fn validate<'a>(members: &Members<'a>) -> Result<Request<'a>, Unreadable<'a>> {
    let is_id = |id: &&RawValue| is_string(id) || is_integer(id) || id.get() == "null";
    let id = members.id.filter(is_id);
    let refuse = |error| Err(Unreadable { id, error });
    if members.id.is_some() && id.is_none() {
        return refuse(Error::invalid_request("Invalid request: id must be a string, an integer or null"));
    }
    if members.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return refuse(Error::invalid_request("Invalid request: jsonrpc must be \"2.0\""));
    }
    let method = members.method.filter(|method| is_string(method));
    let Some(method) = method.and_then(|method| serde_json::from_str::<Key<'a>>(method.get()).ok()) else {
        return refuse(Error::invalid_request("Invalid request: method must be a string"));
    };
    if let Some(unknown) = &members.unknown {
        return refuse(Error::invalid_request(format!("Invalid request: unknown member {unknown:?}")));
    }
    if members.params.is_some_and(|params| !params.get().starts_with('{')) {
        return refuse(Error::invalid_params("Params must be an object"));
    }
    Ok(Request { id, method: method.0, params: members.params })
}

fn is_string(json: &RawValue) -> bool {
    json.get().starts_with('"')
}

fn is_integer(json: &RawValue) -> bool {
    let digits = json.get().strip_prefix('-').unwrap_or_else(|| json.get());
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `{"jsonrpc":"2.0","id":ID,"result":R}`.
///
/// A result that can't be written as JSON becomes an internal error.
pub(crate) fn result(id: Option<&RawValue>, result: &impl Serialize) -> Vec<u8> {
    let mut answer = begin(id, 256);
    answer.extend_from_slice(b",\"result\":");
    match serde_json::to_writer(&mut answer, result) {
        Ok(()) => {
            answer.push(b'}');
            answer
        }
        Err(broken) => error(id, &Error::internal(broken.to_string())),
    }
}

/// `{"jsonrpc":"2.0","id":ID,"error":{"code":C,"message":M,"data":D}}`.
pub(crate) fn error(id: Option<&RawValue>, error: &Error) -> Vec<u8> {
    let mut answer = begin(id, 128);
    answer.extend_from_slice(b",\"error\":{\"code\":");
    answer.extend_from_slice(error.code.to_string().as_bytes());
    for (name, value) in [("message", &Value::from(error.message.as_str())), ("data", &error.data)] {
        answer.extend_from_slice(format!(",\"{name}\":").as_bytes());
        // A `Value` can always be written to a `Vec`.
        let _ = serde_json::to_writer(&mut answer, value);
    }
    answer.extend_from_slice(b"}}");
    answer
}

fn begin(id: Option<&RawValue>, room: usize) -> Vec<u8> {
    let mut answer = Vec::with_capacity(room);
    answer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    answer.extend_from_slice(id.map_or("null", RawValue::get).as_bytes());
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(body: &[u8]) -> (Option<String>, i32) {
        let unreadable = read(body).unwrap_err();
        (unreadable.id.map(|id| id.get().to_owned()), unreadable.error.code)
    }

    fn id_of(id: &str) -> String {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"m","id":{id}}}"#);
        read(body.as_bytes()).unwrap().id.unwrap().get().to_owned()
    }

    #[test]
    fn ids_are_echoed_exactly() {
        for id in
            ["1", "0", "-7", "9223372036854775808", "1180591620717411303424", "\"\"", "\"\\u0061\"", "null"]
        {
            assert_eq!(id_of(id), id);
        }
    }

    #[test]
    fn other_ids_are_refused_without_one() {
        for id in ["1.5", "1.0", "true", "[1]", "{}", "1e3"] {
            let body = format!(r#"{{"jsonrpc":"2.0","method":"m","id":{id}}}"#);
            assert_eq!(code(body.as_bytes()), (None, -32600), "{id}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_the_readable_id() {
        let one = Some("1".to_owned());
        for body in [
            r#"{"method":"m","id":1}"#,
            r#"{"jsonrpc":"1.0","method":"m","id":1}"#,
            r#"{"jsonrpc":2.0,"method":"m","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","method":5,"id":1}"#,
            r#"{"jsonrpc":"2.0","method":"m","id":1,"foo":[{}]}"#,
        ] {
            assert_eq!(code(body.as_bytes()), (one.clone(), -32600), "{body}");
        }
        for params in ["[1]", "null", "\"x\"", "5"] {
            let body = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params},"id":1}}"#);
            assert_eq!(code(body.as_bytes()), (one.clone(), -32602), "{params}");
        }
    }

    #[test]
    fn json_that_is_no_request_is_told_apart_from_what_is_no_json() {
        for body in ["[]", "[{}]", "\"x\"", "5", " null"] {
            assert_eq!(code(body.as_bytes()), (None, -32600), "{body}");
        }
        for body in ["", "{bad", "{\"jsonrpc\":\"2.0\",\"method\":", "[", "NaN", "{} x", "{\"params\":NaN}"] {
            assert_eq!(code(body.as_bytes()), (None, -32700), "{body}");
        }
        assert_eq!(code(b"{\"\xff\"").1, -32700);
        assert_eq!(code(b"{\0\"\0").1, -32700);
    }

    #[test]
    fn a_byte_order_mark_and_duplicates_are_taken() {
        let body = b"\xef\xbb\xbf {\"jsonrpc\":\"2.0\",\"method\":\"a\",\"method\":\"b\\u0062\",\"id\":1}";
        assert_eq!(read(body).unwrap().method, "bb");
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        let body = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":{deep}}},"id":1}}"#);
        assert!(read(body.as_bytes()).is_ok());
        assert_eq!(code(deep.as_bytes()), (None, -32600));
    }

    #[test]
    fn answers_have_their_members_in_order() {
        let id = serde_json::value::to_raw_value(&7).unwrap();
        assert_eq!(result(Some(&id), &[1]), br#"{"jsonrpc":"2.0","id":7,"result":[1]}"#);
        let expected =
            br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":null}}"#;
        assert_eq!(error(None, &Error::parse()), expected);
    }
}
