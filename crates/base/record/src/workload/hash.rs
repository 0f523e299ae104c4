// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hash of a workload.

use serde_json::Value;

use super::Workload;

/// BLAKE3 of the canonical JSON, in hex.
pub(super) fn of(workload: &Workload) -> String {
    let value = serde_json::to_value(workload).expect("a workload is plain JSON with text keys");
    let mut text = String::new();
    write(&value, &mut text);
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Keys in order, whatever order the map keeps (a feature of `serde_json` that any crate may switch
/// on), no blanks; what is null is left out, so that a field added later changes nothing.
fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().filter(|(_, value)| !value.is_null()).collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            let one = |(key, value): &(&String, &Value), text: &mut String| {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(value, text);
            };
            list(text, ['{', '}'], &entries, one);
        }
        Value::Array(values) => list(text, ['[', ']'], values, write),
        plain => text.push_str(&plain.to_string()),
    }
}

fn list<T>(text: &mut String, ends: [char; 2], items: &[T], one: impl Fn(&T, &mut String)) {
    let [open, close] = ends;
    text.push(open);
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        one(item, text);
    }
    text.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tests::random_reads;

    #[test]
    fn the_hash_is_that_of_ordered_json() {
        let workload = random_reads();
        let mut text = String::new();
        write(&serde_json::to_value(&workload).unwrap(), &mut text);
        let wanted = concat!(
            r#"{"access":{"cache":"direct","io_wait":"counted","path":"block","#,
            r#""polling":"interrupt","submission":"thread","wait":{"kind":"one"}},"#,
            r#""blocks":{"bytes":4096,"kind":"one"},"depth":32,"division":"whole","#,
            r#""limits":{"ramp_seconds":0.0,"seconds":30.0},"#,
            r#""mix":{"read_percent":100,"trim_percent":0,"write_percent":0},"#,
            r#""offset_bytes":0,"pace":{"kind":"closed"},"pattern":{"kind":"uniform"},"seed":1,"#,
            r#""sharing":"each-its-own","targets":[{"path":"/dev/nvme0n1"}],"threads":4}"#,
        );
        assert_eq!(text, wanted);
        assert_eq!(workload.hash(), blake3::hash(wanted.as_bytes()).to_hex().to_string());
    }

    #[test]
    fn what_is_asked_changes_the_hash_and_the_way_through_json_does_not() {
        let workload = random_reads();
        let text = serde_json::to_string(&workload).unwrap();
        let back: Workload = serde_json::from_str(&text).unwrap();
        assert_eq!(back.hash(), workload.hash());
        let deeper = Workload { depth: 33, ..workload.clone() };
        assert_ne!(deeper.hash(), workload.hash());
    }
}
