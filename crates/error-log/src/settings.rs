//! What MySQL's variables say of the error log.

use std::path::{Path, PathBuf};

/// `log_error_verbosity`: errors and warnings.
pub const VERBOSITY_DEFAULT: u8 = 2;

const FILTER: &str = "log_filter_internal";
const TEXT_SINK: &str = "log_sink_internal";
const JSON_SINK: &str = "log_sink_json";

/// Where entries go, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `None`: stderr.
    pub file: Option<PathBuf>,
    /// In MySQL's text format.
    pub text: bool,
    /// As JSON lines.
    pub json: bool,
    /// 1 to 3.
    pub verbosity: u8,
}

impl Settings {
    /// From `log_error`, `log_error_services` and `log_error_verbosity`. A file's name that is relative is looked for in the data
    /// directory, and one without an ending gets `.err`. `None`: there is no such service.
    pub fn of(log_error: &str, services_text: &str, verbosity: &str, data_dir: &Path) -> Option<Settings> {
        let (text, json) = services(services_text)?;
        let file = match log_error.trim() {
            "" | "stderr" => None,
            name => {
                let mut path = data_dir.join(name);
                if path.extension().is_none() {
                    path.set_extension("err");
                }
                Some(path)
            }
        };
        let verbosity = verbosity.parse().unwrap_or(VERBOSITY_DEFAULT);
        Some(Settings { file, text, json, verbosity })
    }

    /// JSON lines have a file of their own beside the other, as in MySQL.
    pub(crate) fn json_file(&self) -> Option<PathBuf> {
        self.file.clone().map(|file| {
            let mut name = file.into_os_string();
            name.push(".00.json");
            PathBuf::from(name)
        })
    }
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split([';', ',']).map(|word| word.trim().to_ascii_lowercase()).filter(|word| !word.is_empty())
}

/// Whether the sinks for text and for JSON are among the services. `None`: one is not known here, or there is no sink.
pub fn services(text: &str) -> Option<(bool, bool)> {
    let named: Vec<String> = words(text).collect();
    let has = |name: &str| named.iter().any(|word| word == name);
    let are_known = named.iter().all(|word| [FILTER, TEXT_SINK, JSON_SINK].contains(&word.as_str()));
    (are_known && (has(TEXT_SINK) || has(JSON_SINK))).then(|| (has(TEXT_SINK), has(JSON_SINK)))
}

/// `log_error_services` as it is shown. `None`: as for [`services`].
pub fn service_names(text: &str) -> Option<String> {
    services(text).map(|_| words(text).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_those_of_mysql_with_at_least_one_sink() {
        assert_eq!(services("log_filter_internal; log_sink_internal"), Some((true, false)));
        assert_eq!(services("LOG_SINK_JSON"), Some((false, true)));
        assert_eq!(services("log_sink_internal,log_sink_json"), Some((true, true)));
        assert_eq!(services("log_filter_internal"), None);
        assert_eq!(services("log_sink_syseventlog"), None);
        assert_eq!(services(""), None);
        assert_eq!(
            service_names("log_filter_internal ;LOG_sink_json;").as_deref(),
            Some("log_filter_internal; log_sink_json")
        );
    }

    #[test]
    fn a_file_lies_in_the_data_directory_and_has_an_ending() {
        let of = |name| Settings::of(name, "log_sink_json", "3", Path::new("/data")).unwrap();
        assert_eq!(of("stderr").file, None);
        assert_eq!(of("shoal").file.as_deref(), Some(Path::new("/data/shoal.err")));
        assert_eq!(of("/var/log/shoal.log").file.as_deref(), Some(Path::new("/var/log/shoal.log")));
        assert_eq!(of("shoal").json_file().as_deref(), Some(Path::new("/data/shoal.err.00.json")));
        assert_eq!(of("stderr").verbosity, 3);
        assert_eq!(Settings::of("stderr", "log_sink_paper", "3", Path::new("/data")), None);
    }
}
