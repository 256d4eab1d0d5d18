use super::*;

fn text(metrics: &Metrics) -> String {
    String::from_utf8(metrics.render().expect("rendered")).expect("text")
}

async fn ask(metrics: &Metrics, method: &str, answer: Result<u16, &'static str>) {
    let inner = tower::service_fn(move |_: Request<Body>| async move {
        answer.map(|code| Response::builder().status(code).body(()).expect("response"))
    });
    let traffic = Traffic::to(&"https://10.0.0.1:6443/".parse().expect("uri"), metrics);
    let request = Request::builder().method(method).body(Body::empty()).expect("request");
    let _ = traffic.layer(inner).call(request).await;
}

#[tokio::test]
async fn requests_are_counted_as_client_go_counts_them() {
    let metrics = Metrics::new().expect("metrics");
    ask(&metrics, "GET", Ok(200)).await;
    ask(&metrics, "GET", Ok(200)).await;
    ask(&metrics, "PATCH", Ok(409)).await;
    ask(&metrics, "POST", Err("connection refused")).await;
    let text = text(&metrics);
    for line in [
        "rest_client_requests_total{code=\"200\",host=\"10.0.0.1:6443\",method=\"GET\"} 2\n",
        "rest_client_requests_total{code=\"409\",host=\"10.0.0.1:6443\",method=\"PATCH\"} 1\n",
        "rest_client_requests_total{code=\"<error>\",host=\"10.0.0.1:6443\",method=\"POST\"} 1\n",
        "rest_client_request_duration_seconds_count{host=\"10.0.0.1:6443\",verb=\"GET\"} 2\n",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[tokio::test]
async fn a_request_that_was_given_up_counts_as_one_without_an_answer() {
    let metrics = Metrics::new().expect("metrics");
    let inner =
        tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<()>, BoxError>>());
    let traffic = Traffic::to(&"http://server".parse().expect("uri"), &metrics);
    let request = traffic.layer(inner).call(Request::new(Body::empty()));
    drop(request);
    let line = "rest_client_requests_total{code=\"<error>\",host=\"server\",method=\"GET\"} 1\n";
    assert!(text(&metrics).contains(line));
}
