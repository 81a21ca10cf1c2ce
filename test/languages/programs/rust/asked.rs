//! The requests of every client, and the report of their results: one line of JSON for each case.

use serde_json::{json, Value};
use std::error::Error;

pub fn environment(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

pub fn model(name: &str) -> String {
    format!("{}/{name}", environment("TOLLGATE_FAMILY"))
}

pub fn weather() -> Value {
    json!({
        "type": "object", "properties": {"city": {"type": "string"}},
        "required": ["city"], "additionalProperties": false,
    })
}

/// Prints the result of a case. `facts` returns the status and code of an error, if the client reports them.
pub fn tell_line(case: &str, seen: Result<Value, Box<dyn Error>>, facts: impl Fn(&(dyn Error + 'static)) -> Value) {
    let mut line = seen.unwrap_or_else(|error| {
        let mut told = facts(error.as_ref());
        told["message"] = json!(error.to_string());
        json!({"error": told})
    });
    line["case"] = json!(case);
    println!("{line}");
}
