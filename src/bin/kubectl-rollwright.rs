//! `kubectl rollwright`; all of it is in crates/cli.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(cli::run(&arguments));
    // A watch that is still open is not worth waiting for.
    runtime.shutdown_background();
    code.into()
}
