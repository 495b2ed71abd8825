//! How many worker threads a node has, and on which CPUs.
//!
//! NDB has several ways to say it. In this order: `ThreadConfig`, of which the threads that work for clients count (ldm, query, tc);
//! `NumCPUs`; `MaxNoOfExecutionThreads`. Without any of them a node has a thread for every core of its host, or its share of them
//! where several nodes have one host.
//! CPUs come from `LockExecuteThreadToCPU`, or from the same threads of `ThreadConfig`.

use super::Setting;
use crate::defect::{Findings, nearest};

const THREAD_KINDS: &[&str] =
    &["ldm", "query", "recover", "tc", "main", "recv", "send", "rep", "io", "watchdog", "idxbld"];
const KINDS_FOR_CLIENTS: &[&str] = &["ldm", "query", "tc"];
const CPU_MAX: u32 = 65_535;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Threads {
    pub count: Option<u32>,
    pub cpus: Vec<u32>,
}

/// What the settings that `setting` finds say together.
pub(super) fn threads<'a>(setting: impl Fn(&str) -> Option<&'a Setting>, findings: &mut Findings) -> Threads {
    let mut threads =
        setting("ThreadConfig").map_or_else(Threads::default, |config| thread_config(config, findings));
    let number = |name: &str| setting(name).and_then(Setting::number).filter(|count| *count > 0);
    let count = number("NumCPUs").or_else(|| number("MaxNoOfExecutionThreads"));
    threads.count = threads.count.or(count.map(|count| count as u32));
    if let Some(given) = setting("LockExecuteThreadToCPU")
        && let Some(text) = given.text()
    {
        threads.cpus = cpu_list(given, text, findings);
    }
    threads
}

/// `main={cpubind=0},ldm={count=4,cpubind=1-4},rep`: kinds of thread, some with settings in braces.
fn thread_config(setting: &Setting, findings: &mut Findings) -> Threads {
    let mut threads = Threads::default();
    let mut rest = setting.text().unwrap_or_default().trim();
    while !rest.is_empty() {
        let kind_end = rest.find(['=', ',']).unwrap_or(rest.len());
        let kind = rest[..kind_end].trim();
        let mut parameters = "";
        let after = rest[kind_end..].strip_prefix('=').map(str::trim_start);
        if let Some(braces) = after {
            let Some((inside, behind)) = braces.strip_prefix('{').and_then(|open| open.split_once('}')) else {
                findings.defect(setting.line, format!("ThreadConfig: {kind}= needs its settings in {{braces}}"));
                return threads;
            };
            parameters = inside;
            rest = behind.trim_start();
        } else {
            rest = &rest[kind_end..];
        }
        if let Some(defect) = unknown_kind(kind) {
            findings.defect(setting.line, defect);
        } else if KINDS_FOR_CLIENTS.contains(&kind.to_ascii_lowercase().as_str()) {
            add(setting, parameters, &mut threads, findings);
        }
        match rest.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None if rest.is_empty() => {}
            None => {
                findings.defect(setting.line, format!("ThreadConfig: expected a comma before `{rest}`"));
                return threads;
            }
        }
    }
    threads
}

fn unknown_kind(kind: &str) -> Option<String> {
    if THREAD_KINDS.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        return None;
    }
    let hint = match nearest(kind, THREAD_KINDS.iter().copied()) {
        Some(known) => format!("did you mean {known}?"),
        None => format!("known are {}", THREAD_KINDS.join(", ")),
    };
    Some(format!("ThreadConfig: `{kind}` is no kind of thread; {hint}"))
}

/// Adds the threads of one kind. A part without `=` continues the list before it: `cpubind=1,2`.
fn add(setting: &Setting, parameters: &str, threads: &mut Threads, findings: &mut Findings) {
    let mut count = 1;
    let mut in_cpus = false;
    for part in parameters.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').map_or(("", part), |(name, value)| (name.trim(), value.trim()));
        if !name.is_empty() {
            in_cpus = ["cpubind", "cpuset", "cpubind_exclusive", "cpuset_exclusive"]
                .iter()
                .any(|list| list.eq_ignore_ascii_case(name));
        }
        if in_cpus {
            threads.cpus.extend(cpu_list(setting, value, findings));
        } else if name.eq_ignore_ascii_case("count") {
            match value.parse::<u32>().ok().filter(|count| *count <= 1024) {
                Some(given) => count = given,
                None => {
                    findings.defect(setting.line, format!("ThreadConfig: count={value} is no number of threads"))
                }
            }
        }
    }
    threads.count = Some(threads.count.unwrap_or(0) + count).filter(|count| *count > 0);
}

/// A list of CPUs and ranges of them: `0,2,4-7`.
fn cpu_list(setting: &Setting, text: &str, findings: &mut Findings) -> Vec<u32> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|cpu| *cpu <= CPU_MAX);
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let range = match part.split_once('-') {
            Some((first, last)) => number(first).zip(number(last)).filter(|(first, last)| first <= last),
            None => number(part).map(|cpu| (cpu, cpu)),
        };
        match range {
            Some((first, last)) => cpus.extend(first..=last),
            None => {
                let message = format!("{}: `{part}` is no CPU; write a list such as 0,2,4-7", setting.name);
                findings.defect(setting.line, message);
            }
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Value;

    fn read(settings: &[(&'static str, &str)]) -> (Threads, Vec<String>) {
        let settings: Vec<Setting> = settings
            .iter()
            .map(|(name, text)| {
                let value = text.parse().map_or_else(|_| Value::Text((*text).to_owned()), Value::Number);
                Setting { name, value, line: 7 }
            })
            .collect();
        let mut findings = Findings::default();
        let threads = threads(|name| settings.iter().find(|setting| setting.name == name), &mut findings);
        (threads, findings.defects.into_iter().map(|defect| defect.message).collect())
    }

    #[test]
    fn threads_for_clients_are_counted_and_their_cpus_collected() {
        let config = "main={cpubind=0}, ldm={count=4,cpubind=1,2,5-6},tc={count=2,cpuset=7-8},recv={count=2},rep";
        let (threads, defects) = read(&[("ThreadConfig", config), ("MaxNoOfExecutionThreads", "16")]);
        assert_eq!(defects, Vec::<String>::new());
        assert_eq!(threads, Threads { count: Some(6), cpus: vec![1, 2, 5, 6, 7, 8] });
    }

    #[test]
    fn the_first_way_that_says_something_counts() {
        assert_eq!(read(&[]).0, Threads::default());
        assert_eq!(read(&[("MaxNoOfExecutionThreads", "8")]).0.count, Some(8));
        assert_eq!(read(&[("NumCPUs", "0"), ("MaxNoOfExecutionThreads", "8")]).0.count, Some(8));
        assert_eq!(read(&[("NumCPUs", "4"), ("MaxNoOfExecutionThreads", "8")]).0.count, Some(4));
        assert_eq!(read(&[("LockExecuteThreadToCPU", "3, 1-2")]).0.cpus, [3, 1, 2]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let defect = |name, text| read(&[(name, text)]).1.join("; ");
        assert_eq!(
            defect("LockExecuteThreadToCPU", "1,x,9-2"),
            "LockExecuteThreadToCPU: `x` is no CPU; write a list such as 0,2,4-7; \
             LockExecuteThreadToCPU: `9-2` is no CPU; write a list such as 0,2,4-7"
        );
        assert_eq!(
            defect("ThreadConfig", "ldn={count=2}"),
            "ThreadConfig: `ldn` is no kind of thread; did you mean ldm?"
        );
        assert_eq!(defect("ThreadConfig", "ldm=4"), "ThreadConfig: ldm= needs its settings in {braces}");
        assert_eq!(defect("ThreadConfig", "ldm={count=4} tc"), "ThreadConfig: expected a comma before `tc`");
        assert_eq!(defect("ThreadConfig", "ldm={count=many}"), "ThreadConfig: count=many is no number of threads");
    }
}
