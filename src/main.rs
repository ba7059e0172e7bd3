//! The program: parses the command line, then serves or runs an operator's command. The futures are
//! polled in the library: polled here, they would be compiled a second time.

use std::process::ExitCode;
use std::sync::Arc;

use landing_api::adapters::listener::passed_sockets;
use landing_api::adapters::system::{SystemClock, check_threads, write_to_pipe};
use landing_api::cli::serve::{ServeError, serve_until_stopped};
use landing_api::cli::{self, CommandError};
use landing_api::config::{Args, Command, Invocation, LogFormat, OutputForm};
use landing_api::http::router;
use landing_api::metrics::{LastError, Metrics};
use landing_api::ports::Clock as _;
use landing_api::telemetry;
use tikv_jemallocator::Jemalloc;
use tracing::Level;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    match Invocation::load(std::env::args_os()) {
        Ok(Invocation::Serve(args)) => serve(&args),
        Ok(Invocation::Operate {
            command,
            form,
            args,
        }) => operate(command, form, &args),
        Ok(Invocation::RunWith(settings)) => report(cli::run_with(&settings)),
        Err(error) => {
            let status = u8::try_from(error.exit_code()).unwrap_or(2);
            // Fails only if nobody reads the output.
            write_to_pipe(move || drop(error.print()));
            ExitCode::from(status)
        }
    }
}

/// Runs an operator's command.
fn operate(command: Command, form: OutputForm, args: &Args) -> ExitCode {
    let log = telemetry::init(Level::WARN, false, || SystemClock.now(), |_text| {});
    let ended = cli::run(command, form, args);
    drop(log);
    ended.map_or_else(report, |done| ExitCode::from(done.status()))
}

/// Prints why a command failed, and returns the exit status.
fn report(error: CommandError) -> ExitCode {
    let status = error.status();
    write_to_pipe(move || cli::report(&error));
    ExitCode::from(status)
}

/// Runs the service.
fn serve(args: &Args) -> ExitCode {
    let is_json = args.log_format == LogFormat::Json;
    // Before any thread starts, because this changes the environment. The log has a thread, too.
    let names = std::env::var_os("LISTEN_FDNAMES").unwrap_or_default();
    let passed = passed_sockets(&names.to_string_lossy());
    let passed = match passed.and_then(|passed| check_threads().map(|()| passed)) {
        Ok(passed) => passed,
        Err(error) => return failed(is_json, error.into()),
    };
    let mut metrics = Metrics::new(router::names());
    metrics.data_dir.clone_from(&args.data_dir);
    let metrics = Arc::new(metrics);
    let warned = Arc::clone(&metrics);
    let on_warning = move |text| {
        let at = SystemClock.now();
        *warned.last_error.lock() = Some(LastError { at, text });
    };
    let log = telemetry::init(args.log_level, is_json, || SystemClock.now(), on_warning);
    let ended = serve_until_stopped(args, passed, metrics);
    if ended.is_ok() {
        tracing::info!(log.dropped = log.dropped_lines(), "stopped");
    }
    // The log goes first, so that the error is the last line.
    write_to_pipe(move || drop(log));
    ended.map_or_else(|error| failed(is_json, error), |()| ExitCode::SUCCESS)
}

/// Prints the error and returns the exit status.
fn failed(is_json: bool, error: ServeError) -> ExitCode {
    let (status, line) = match error {
        ServeError::Flag(line) => (2, line),
        ServeError::Run(error) => (1, error.to_string()),
    };
    // Fails only if nobody reads standard error.
    write_to_pipe(move || drop(telemetry::write_failure(is_json, &line)));
    ExitCode::from(status)
}
