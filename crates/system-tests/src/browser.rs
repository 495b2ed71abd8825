//! A headless Chromium, driven over its pipe for debugging: JSON messages, each ended by NUL.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Without a graphics card, and as root in containers.
const OPTIONS: &str = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-extensions \
    --disable-background-networking --disable-component-update --disable-sync --remote-debugging-pipe about:blank";

/// One browser with one page. It ends when it is dropped.
pub struct Browser {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Value,
    next: u64,
    /// What scripts and the browser itself have complained of.
    pub complaints: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// `None`: Chromium is not installed.
    pub fn start() -> Option<Browser> {
        let found = Command::new("sh").args(["-c", "command -v chromium"]).output().ok()?;
        if !found.status.success() {
            return None;
        }
        let profile = tempfile::tempdir().unwrap();
        // It reads messages from descriptor 3 and writes them to 4.
        let command =
            format!("exec chromium --user-data-dir=\"$0\" {OPTIONS} 3<&0 4>&1 </dev/null >/dev/null 2>&1");
        let mut process = Command::new("sh")
            .args(["-c", &command])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let (session, complaints) = (Value::Null, Vec::new());
        let mut browser = Browser { process, input, output, session, next: 0, complaints, _profile: profile };
        let targets = browser.call("Target.getTargets", json!({}));
        let pages = targets["targetInfos"].as_array().unwrap().iter();
        let page = pages.into_iter().find(|target| target["type"] == json!("page")).unwrap()["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": page, "flatten": true }));
        browser.session = attached["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Has something done; what comes meanwhile is looked at for complaints.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": parameters });
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).unwrap();
        loop {
            let mut bytes = Vec::new();
            let count = self.output.read_until(0, &mut bytes).unwrap();
            assert!(count > 0, "the browser has ended; complaints: {:?}", self.complaints);
            let message: Value = serde_json::from_slice(bytes.strip_suffix(&[0]).unwrap_or(&bytes)).unwrap();
            if message["id"] == json!(self.next) {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            match message["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" | "Log.entryAdded" => {
                    self.complaints.push(message["params"].to_string())
                }
                _ => {}
            }
        }
    }

    pub fn open(&mut self, url: &str) {
        let opened = self.call("Page.navigate", json!({ "url": url }));
        assert!(opened["errorText"].is_null(), "{url}: {opened}");
    }

    /// The value of an expression, awaited if it is a promise.
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    pub fn is_true(&mut self, expression: &str) -> bool {
        self.value(expression) == json!(true)
    }

    pub fn resize(&mut self, width: u32, height: u32) {
        let is_phone = width < 500;
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// `light` or `dark`.
    pub fn prefer_colours(&mut self, name: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": name });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// Presses a key: `Tab`, `Enter`, `Escape`.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            _ => 27,
        };
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// The whole page as a PNG file, in base64.
    pub fn screenshot(&mut self) -> String {
        let size = self.call("Page.getLayoutMetrics", json!({}))["cssContentSize"].clone();
        let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1 });
        let shot = self.call(
            "Page.captureScreenshot",
            json!({ "format": "png", "captureBeyondViewport": true, "clip": clip }),
        );
        shot["data"].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its other processes end with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
