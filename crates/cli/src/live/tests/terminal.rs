//! The view in a real pseudo-terminal: it answers keys, and leaves the terminal as it was.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kube::Client;
use kube::client::Body;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use serde_json::{Value, json};

use super::cluster::forty;
use super::screens::at_step;
use crate::cluster::{Cluster, Deployment};
use crate::live::screen::Screen;
use crate::live::watch;

/// Is set for a test that runs in a terminal. Each test here runs itself once more, in one.
const INSIDE: &str = "ROLLWRIGHT_TEST_IN_TERMINAL";
const ENTERED: &str = "\u{1b}[?1049h";
const LEFT: &str = "\u{1b}[?1049l";
/// Far longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server that has one Deployment, and takes no change but that of `spec.paused`.
async fn answer(request: http::Request<Body>, paused: Arc<Mutex<bool>>) -> http::Response<Body> {
    let (path, query) =
        (request.uri().path().to_owned(), request.uri().query().unwrap_or_default().to_owned());
    if query.contains("watch=true") {
        std::future::pending::<()>().await;
    }
    let mut rollout = at_step(90);
    let is_patch = request.method() == http::Method::PATCH;
    if is_patch && !query.contains("dryRun") {
        *paused.lock().unwrap() = true;
    }
    rollout.deployment["spec"]["paused"] = json!(is_patch || *paused.lock().unwrap());
    let list = |items: Value| json!({"metadata": {"resourceVersion": "1"}, "items": items});
    let body = match path.rsplit('/').next() {
        Some("web") => rollout.deployment,
        Some("deployments") => list(json!([rollout.deployment])),
        Some("replicasets") => list(json!(rollout.sets)),
        Some("pods") => list(json!(rollout.pods)),
        Some("selfsubjectaccessreviews") => json!({"spec": {}, "status": {"allowed": true}}),
        _ => list(json!([])),
    };
    http::Response::new(Body::from(body.to_string().into_bytes()))
}

/// Whether this process is the one in the terminal.
fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// The view of that Deployment, until somebody leaves it.
#[tokio::main(flavor = "current_thread")]
async fn view() {
    let paused = Arc::new(Mutex::new(false));
    let service = tower::service_fn(move |request| {
        let paused = Arc::clone(&paused);
        async move { Ok::<_, std::convert::Infallible>(answer(request, paused).await) }
    });
    let cluster = Cluster::of(Client::new(service, "shop"), "shop");
    let deployment = Deployment { flavour: plan::Flavour::Rollwright, body: forty(0).deployment };
    assert!(watch(&cluster, deployment, 3).await.is_ok());
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// A program in a terminal.
struct Session {
    child: Child,
    terminal: OwnedFd,
    keyboard: File,
    shown: Arc<Mutex<Vec<u8>>>,
    before: Termios,
}

impl Session {
    /// Runs the test of this name in a terminal.
    fn begin(test: &str) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::options().read(true).write(true).open(name).unwrap();
        tcsetwinsize(&terminal, size(80, 24)).unwrap();
        let before = tcgetattr(&terminal).unwrap();
        let end = || terminal.try_clone().unwrap();
        let test = format!("live::tests::terminal::{test}");
        // With a terminal of its own, the process learns of a new size.
        let child = Command::new("setsid")
            .arg("--ctty")
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", &test, "--nocapture", "--test-threads=1"])
            .env(INSIDE, "")
            .env("TERM", "xterm-256color")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut screen, notes) = (File::from(master.try_clone().unwrap()), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                notes.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, terminal: terminal.into(), keyboard: File::from(master), shown, before }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits for a word; what is drawn has no control sequence within one.
    fn expect(&self, word: &str) {
        let begin = Instant::now();
        while !self.text().contains(word) {
            assert!(begin.elapsed() < PATIENCE, "{word} does not come: {}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end, and checks that the terminal is as it was.
    fn end(mut self, is_well: bool) -> String {
        let status = self.child.wait().unwrap();
        assert_eq!(status.success(), is_well, "{status}: {}", self.text());
        self.expect(if is_well { "test result: ok" } else { "on purpose" });
        let after = tcgetattr(&self.terminal).unwrap();
        assert_eq!(after.local_modes, self.before.local_modes);
        assert_eq!(after.input_modes, self.before.input_modes);
        assert_eq!(after.output_modes, self.before.output_modes);
        let text = self.text();
        let (entered, left) = (text.find(ENTERED), text.rfind(LEFT));
        assert!(entered.is_some() && entered < left, "{text}");
        assert!(text.rfind("\u{1b}[?25h") >= text.rfind("\u{1b}[?25l"), "the cursor is shown: {text}");
        text
    }
}

#[test]
fn a_view_answers_keys_and_leaves_the_terminal_as_it_was() {
    if is_inside() {
        return view();
    }
    let mut session = Session::begin("a_view_answers_keys_and_leaves_the_terminal_as_it_was");
    session.expect("desired 10, current 10");
    tcsetwinsize(&session.terminal, size(40, 20)).unwrap();
    session.expect("updated 3, ready 10, available 10/10");
    session.press("p");
    session.expect("Outcome:");
    session.press("y");
    session.expect("web paused");
    session.press("q");
    let text = session.end(true);
    assert!(text.find(ENTERED) < text.find("Outcome:") && text.find("Outcome:") < text.rfind(LEFT));
}

#[test]
fn an_interrupt_and_a_signal_leave_the_terminal_as_it_was() {
    if is_inside() {
        return view();
    }
    let test = "an_interrupt_and_a_signal_leave_the_terminal_as_it_was";
    let mut session = Session::begin(test);
    session.expect("Resting");
    session.press("\u{3}");
    session.end(true);
    let session = Session::begin(test);
    session.expect("Resting");
    let pid = rustix::process::Pid::from_child(&session.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    session.end(true);
}

#[test]
fn a_panic_leaves_the_terminal_as_it_was_and_its_message_stays() {
    if is_inside() {
        let mut screen = Screen::enter().unwrap();
        return screen.draw(|_| panic!("on purpose")).unwrap();
    }
    let session = Session::begin("a_panic_leaves_the_terminal_as_it_was_and_its_message_stays");
    let text = session.end(false);
    assert!(text.find("on purpose") > text.find(LEFT), "{text}");
}
