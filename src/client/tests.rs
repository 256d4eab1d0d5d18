use super::*;

#[tokio::test]
async fn a_server_in_a_kubeconfig_is_a_url_or_is_named() {
    let path = std::env::temp_dir().join(format!("rollwright-client-{}", std::process::id()));
    for (server, url) in [
        ("127.0.0.1:8080", Ok("http://127.0.0.1:8080/")),
        ("", Err("server \"\" of cluster \"c\" in FILE must be a URL")),
        ("ht!tp://", Err("server \"ht!tp://\" of cluster \"c\" in FILE must be a URL")),
        ("http://127.0.0.1:8080  ", Err("server \"http://127.0.0.1:8080  \" of cluster")),
    ] {
        let kubeconfig = format!(
            "{{current-context: o, contexts: [{{name: o, context: {{cluster: c}}}}], clusters: [{{name: c, cluster: \
             {{server: '{server}'}}}}]}}"
        );
        std::fs::write(&path, kubeconfig).expect("a file");
        let arguments = ClientArguments { kubeconfig: Some(path.clone()), context: None };
        let read = config(&arguments).await.map(|config| config.cluster_url.to_string());
        match (read.map_err(|error| error.to_string()), url) {
            (Ok(read), Ok(url)) => assert_eq!(read, url),
            (Err(told), Err(part)) => {
                let part = part.replace("FILE", &path.display().to_string());
                assert!(told.contains(&part) && told.contains("HOST:PORT"), "{told}");
            }
            (read, _) => panic!("{server}: {read:?}"),
        }
    }
    std::fs::remove_file(&path).expect("the file");
}
