//! A server on a free port that answers by a script, right or wrong.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// Sends these bytes, and closes the connection.
    Send(String),
    /// Sends these bytes, and nothing more.
    Hang(String),
}

/// An answer of HTTP.
pub(super) fn answer(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    Act::Send(format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    ))
}

/// An object, as an API server sends it.
pub(super) fn object(object: &Value) -> Act {
    answer("200 OK", "Content-Type: application/json\r\n", &object.to_string())
}

/// A refusal, as an API server sends it.
pub(super) fn refusal(code: u16, headers: &str, reason: &str, message: &str) -> Act {
    let status = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    answer(&format!("{code} {reason}"), headers, &status.to_string())
}

/// A server, and the requests that it has had.
pub(super) struct Server {
    pub(super) address: String,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Answers by the first line of a request and the number of those before.
    pub(super) async fn start(script: impl Fn(&str, usize) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (script, seen) = (Arc::new(script), requests.clone());
        let task = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.push(tokio::spawn(serve(stream, script.clone(), seen.clone())));
            }
        });
        Self { address, requests, task }
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve<F: Fn(&str, usize) -> Act>(
    mut stream: TcpStream,
    script: Arc<F>,
    seen: Arc<Mutex<Vec<String>>>,
) {
    let mut read = Vec::new();
    let mut part = [0; 4096];
    while !read.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => break,
            Ok(count) => read.extend_from_slice(&part[..count]),
        }
    }
    let line = String::from_utf8_lossy(&read).lines().next().unwrap_or_default().to_owned();
    let count = {
        let mut seen = seen.lock().unwrap();
        seen.push(line.clone());
        seen.len() - 1
    };
    match script(&line, count) {
        Act::Send(bytes) => {
            let _ = stream.write_all(bytes.as_bytes()).await;
            let _ = stream.shutdown().await;
            // Unread bytes would make the system reset the connection before the answer is read.
            while matches!(stream.read(&mut part).await, Ok(count) if count > 0) {}
        }
        Act::Hang(bytes) => {
            let _ = stream.write_all(bytes.as_bytes()).await;
            std::future::pending::<()>().await;
        }
    }
}
