// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a person could type for what counts only at the next boot: the kernel's command line and
//! modules' options, by the distribution's own tool.

use setting::Write;

use crate::script::quote;

/// What sets the kernel's command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BootTool {
    /// `/etc/default/grub`, then `update-grub` or `grub2-mkconfig`: Debian, Ubuntu, SUSE.
    Grub,
    /// `grubby`: Fedora, RHEL and their kin.
    Grubby,
    /// `kernelstub`: Pop!_OS.
    Kernelstub,
    /// `/etc/kernel/cmdline`, then `kernel-install`: systemd-boot and unified kernel images.
    SystemdBoot,
}

const TOOLS: [BootTool; 4] =
    [BootTool::Grubby, BootTool::Grub, BootTool::Kernelstub, BootTool::SystemdBoot];

/// The lines for an entry that counts at the next boot; none for other entries.
pub(crate) fn lines(write: &Write, value: &str, tool: Option<BootTool>) -> Vec<String> {
    if let Some(option) = &write.boot {
        let option = option.replace("{value}", value);
        return match tool {
            Some(tool) => on_command_line(tool, &option),
            None => TOOLS.into_iter().flat_map(|tool| on_command_line(tool, &option)).collect(),
        };
    }
    write.module.as_deref().map(|module| of_module(module, value)).unwrap_or_default()
}

fn on_command_line(tool: BootTool, option: &str) -> Vec<String> {
    let quoted = quote(option);
    match tool {
        BootTool::Grubby => vec![format!("grubby --update-kernel=ALL --args={quoted}")],
        BootTool::Kernelstub => vec![format!("kernelstub --add-options {quoted}")],
        BootTool::Grub => vec![
            format!("# add {option} to GRUB_CMDLINE_LINUX in /etc/default/grub, then:"),
            "update-grub   # or: grub2-mkconfig -o /boot/grub2/grub.cfg".to_owned(),
        ],
        BootTool::SystemdBoot => vec![
            format!("# add {option} to /etc/kernel/cmdline, then:"),
            "kernel-install add-all".to_owned(),
        ],
    }
}

/// `nvme poll_queues=4`: a file of modprobe.d, and the initramfs where the driver is loaded from
/// there.
fn of_module(module: &str, value: &str) -> Vec<String> {
    let option = module.replace("{value}", value);
    vec![
        // Options of one file add up, those of one module too (modprobe.d(5)).
        format!("echo {} >> /etc/modprobe.d/nearside.conf", quote(&format!("options {option}"))),
        "update-initramfs -u   # or: dracut -f; then reboot".to_owned(),
    ]
}

/// Takes out lines that say the same twice, and sentences that the lines replace.
pub(crate) fn tidy(lines: &mut Vec<String>) {
    let has_commands = lines.len() > 1;
    lines.retain(|line| !(has_commands && line.starts_with("add ")));
    let mut seen = Vec::new();
    lines.retain(|line| {
        let is_news = !seen.contains(line);
        seen.push(line.clone());
        is_news
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_that_is_there_is_named_alone() {
        let write = Write { boot: Some("iommu=pt".to_owned()), ..Write::default() };
        let one = lines(&write, "passthrough", Some(BootTool::Grubby));
        assert_eq!(one, ["grubby --update-kernel=ALL --args='iommu=pt'"]);
        let all = lines(&write, "passthrough", None).join("\n");
        for word in ["grubby", "update-grub", "kernelstub", "kernel-install"] {
            assert!(all.contains(word), "{all}");
        }
    }

    #[test]
    fn a_modules_option_goes_into_its_file() {
        let module = Some("nvme poll_queues={value}".to_owned());
        let lines = lines(&Write { module, ..Write::default() }, "4", None);
        assert_eq!(
            lines.first().map(String::as_str),
            Some("echo 'options nvme poll_queues=4' >> /etc/modprobe.d/nearside.conf")
        );
    }
}
