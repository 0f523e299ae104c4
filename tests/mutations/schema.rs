// SPDX-License-Identifier: MIT OR Apache-2.0
//! As much of JSON Schema as the schemas of this repository use.

use serde_json::Value;

/// Holds a document against the schema that is published for it.
///
/// # Errors
/// The first place that does not fit.
pub(crate) fn hold(schema: &Value, document: &Value) -> Result<(), String> {
    fit(schema, schema, document, "")
}

fn fit(whole: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let pointed = name.strip_prefix('#').and_then(|pointer| whole.pointer(pointer));
        let pointed = pointed.ok_or_else(|| format!("{place}: no schema {name}"))?;
        return fit(whole, pointed, value, place);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = choices.iter().any(|choice| fit(whole, choice, value, place).is_ok());
        return if fits { Ok(()) } else { Err(format!("{place}: {value} fits no choice")) };
    }
    if !is_of_type(&schema["type"], value) {
        return Err(format!("{place}: {value} is no {}", schema["type"]));
    }
    let (low, high) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
    let number = value.as_f64();
    if number.is_some_and(|n| low.is_some_and(|low| n < low) || high.is_some_and(|high| n > high)) {
        return Err(format!("{place}: {value} is out of range"));
    }
    properties(whole, schema, value, place)?;
    let items = value.as_array().into_iter().flatten().enumerate();
    for (number, item) in items.filter(|_| schema["items"].is_object()) {
        fit(whole, &schema["items"], item, &format!("{place}/{number}"))?;
    }
    Ok(())
}

fn properties(whole: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let Some(object) = value.as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            return Err(format!("{place}: no {name}"));
        }
    }
    for (name, inner) in object {
        let Some(schema) = schema["properties"].get(name) else {
            return Err(format!("{place}: {name} is not in the schema"));
        };
        fit(whole, schema, inner, &format!("{place}/{name}"))?;
    }
    Ok(())
}

fn is_of_type(types: &Value, value: &Value) -> bool {
    let is_of = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match types {
        Value::String(name) => is_of(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is_of),
        _ => true,
    }
}
