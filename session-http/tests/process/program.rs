//! The program, run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

/// Longer than anything here takes; a failed test must not hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command line without the variables of whoever runs the tests.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_session-http"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SESSION_HTTP_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

/// The same with at most so many open files.
pub(crate) fn command_with_files(limit: u32, arguments: &[&str]) -> Command {
    let plain = command(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\"")]);
    command.arg(plain.get_program()).args(plain.get_args()).stdin(Stdio::null());
    for (name, _) in plain.get_envs() {
        command.env_remove(name);
    }
    command
}

/// Runs a command line that ends by itself.
pub(crate) fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

type Reader = BufReader<ChildStderr>;

/// How long standard error is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    ItListens,
    TheEnd,
}

/// A server that runs.
pub(crate) struct Program {
    child: Child,
    lines: Receiver<String>,
    reader: Option<JoinHandle<Reader>>,
    pub(crate) address: String,
    /// What it said before it listened.
    pub(crate) before: Vec<String>,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    /// What it said on standard error and had not been read.
    pub(crate) said: Vec<String>,
}

impl Program {
    /// `serve` on a free port.
    pub(crate) fn serve(arguments: &[&str]) -> Self {
        let mut all = vec!["serve", "--port", "0"];
        all.extend(arguments);
        Self::start(command(&all))
    }

    pub(crate) fn start(command: Command) -> Self {
        Self::start_reading(command, Until::TheEnd)
    }

    /// `serve` on a free port, and nobody reads standard error once it listens.
    pub(crate) fn serve_unread(arguments: &[&str]) -> Self {
        let mut command = command(&["serve", "--port", "0"]);
        command.args(arguments);
        Self::start_reading(command, Until::ItListens)
    }

    fn start_reading(mut command: Command, until: Until) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        let reader = thread::spawn(move || {
            for line in stderr.by_ref().lines() {
                let line = line.unwrap();
                let is_last = until == Until::ItListens && line.contains("listening on");
                if sender.send(line).is_err() || is_last {
                    break;
                }
            }
            stderr
        });
        let (address, before) = (String::new(), Vec::new());
        let mut program = Self { child, lines, reader: Some(reader), address, before };
        program.wait_until_it_listens();
        program
    }

    fn wait_until_it_listens(&mut self) {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("it does not listen: {:?}", self.before));
            if let Some((_, address)) = line.split_once("listening on http://") {
                let is_part = |at: &char| at.is_ascii_digit() || ".:".contains(*at);
                self.address = address.chars().take_while(is_part).collect();
                return;
            }
            self.before.push(line);
        }
    }

    /// Waits for its end without reading what it says.
    pub(crate) fn code(mut self) -> Option<i32> {
        // Kept open: a closed pipe would not fill.
        let stderr = self.reader.take().unwrap().join().unwrap();
        let mut stdout = self.child.stdout.take().unwrap();
        let (sender, ended) = mpsc::channel();
        // Standard output closes when the process ends.
        thread::spawn(move || sender.send(stdout.read_to_end(&mut Vec::new()).is_ok()));
        ended.recv_timeout(PATIENCE).expect("the program does not end");
        let code = self.child.wait().unwrap().code();
        drop(stderr);
        code
    }

    /// Waits for a line that contains this.
    pub(crate) fn line(&self, part: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("the program did not say {part:?}"));
            if line.contains(part) {
                return line;
            }
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> End {
        let mut said = Vec::new();
        // The channel closes with standard error, which is when the process has ended.
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => said.push(line),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("the program does not end: {said:?}"),
            }
        }
        End { code: self.child.wait().unwrap().code(), said }
    }

    /// One request on a connection of its own: the status and the body.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        answer(self.send(method, path, body))
    }

    /// The first half of `ask`.
    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        stream
    }

    pub(crate) fn rpc(&self, method: &str, params: &Value) -> Value {
        let (_, body) = self.ask("POST", "/mcp", &rpc(method, params));
        serde_json::from_str(&body).unwrap()
    }

    /// Opens a session; its id.
    pub(crate) fn open(&self) -> String {
        let created = self.rpc("openenv/session/create", &serde_json::json!({}));
        created["result"]["session_id"].as_str().unwrap_or_else(|| panic!("{created}")).to_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn rpc(method: &str, params: &Value) -> String {
    serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// The second half of [`Program::ask`].
pub(crate) fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}
