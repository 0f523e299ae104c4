// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions as `lspci -vvv -nn` prints them.

use serde_json::Value;

use crate::document::{Document, plain};
use crate::facts::Facts;

/// Facts of an lspci text:
///
/// ```text
/// 21:00.0 Non-Volatile memory controller [0108]: ... [1b36:0010] (rev 02) (prog-if 02 [NVM Express])
///         NUMA node: 0
///                 LnkCap: Port #0, Speed 32GT/s, Width x4, ASPM L0s, Exit Latency L0s <64ns
///                 LnkSta: Speed 16GT/s (downgraded), Width x2 (downgraded)
///         Kernel driver in use: nvme
/// ```
pub(crate) fn said(text: &str) -> Facts {
    let mut facts = Facts::default();
    for block in text.split("\n\n").filter(|block| !block.trim().is_empty()) {
        function(block, &mut facts);
    }
    facts
}

fn function(block: &str, facts: &mut Facts) {
    let head = block.trim_start().lines().next().unwrap_or_default();
    let (address, head) = head.split_once(' ').unwrap_or_default();
    let address = if address.len() == 7 { format!("0000:{address}") } else { address.to_owned() };
    let bracket = |text: &str| text.split(['[', ']']).nth(1).map(str::to_owned);
    let class = bracket(head).unwrap_or_default();
    let interface = head.split_once("(prog-if ").and_then(|(_, rest)| rest.get(..2));
    facts.say(format!("{address} class"), format!("{class}{}", interface.unwrap_or("00")));
    let ids = head.split('[').filter_map(|part| part.split(']').next());
    let mut ids = ids.filter(|id| id.len() == 9 && id.as_bytes().get(4) == Some(&b':'));
    facts.say(format!("{address} ids"), ids.next_back().unwrap_or_default());
    let field = |name: &str| {
        let mut lines = block.lines().map(str::trim);
        lines.find_map(|line| line.strip_prefix(name)).map(|rest| rest.trim().to_owned())
    };
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    facts.say(format!("{address} driver"), or_none(field("Kernel driver in use:")));
    facts.say(format!("{address} node"), or_none(field("NUMA node:")));
    facts.say(format!("{address} slot"), or_none(field("Physical Slot:")));
    let (now, best) = (field("LnkSta:"), field("LnkCap:"));
    let link = |text: Option<String>| text.map_or_else(|| "-".to_owned(), |text| lanes(&text));
    facts.say(format!("{address} link"), link(now.clone()));
    facts.say(format!("{address} best link"), link(best));
    let is_below = now.is_some_and(|text| text.contains("(downgraded)"));
    facts.say(format!("{address} below its best"), is_below);
}

/// `32 x4` of `Speed 32GT/s (ok), Width x4 (ok)`.
fn lanes(text: &str) -> String {
    let after = |name: &str| {
        let value = text.split_once(name).map_or("", |(_, rest)| rest);
        value.split([',', ' ']).next().unwrap_or_default().to_owned()
    };
    format!("{} {}", after("Speed ").trim_end_matches("GT/s"), after("Width "))
}

/// The same facts of the document.
pub(crate) fn ours(document: &Document) -> Facts {
    let mut facts = Facts::default();
    for function in document.list("functions") {
        let address = plain(&function["address"]);
        let mut say = |what: &str, text: String| facts.say(format!("{address} {what}"), text);
        say("class", plain(&function["class"]));
        say("ids", format!("{}:{}", plain(&function["vendor"]), plain(&function["device"])));
        say("driver", plain(&function["driver"]));
        say("node", plain(&function["node"]));
        say("slot", plain(&function["slot"]));
        say("link", lanes_of(&function["link"], "speed_gts", "width"));
        say("best link", lanes_of(&function["link"], "best_speed_gts", "best_width"));
        let limit = plain(&function["link"]["limited_by"]);
        say("below its best", (limit == "trained" || limit == "port").to_string());
    }
    facts
}

fn lanes_of(link: &Value, speed: &str, width: &str) -> String {
    if link.is_null() {
        return "-".to_owned();
    }
    format!("{} x{}", plain(&link[speed]).trim_end_matches(".0"), plain(&link[width]))
}
