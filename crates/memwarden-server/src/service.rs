//! A port, the threads behind it, and how they end: what the proxy and the endpoint share.
//!
//! Not here: what is answered.

use axum::Router;
use axum::serve::ListenerExt as _;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// A service that has its port.
#[derive(Debug)]
pub(crate) struct Service {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    stop: watch::Sender<bool>,
}

/// Stops a service from another thread.
#[derive(Debug, Clone)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Asks it to take no more calls and to end the open ones within its grace.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// A service that could not start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The address cannot be had.
    #[error("`listen`: `{address}` cannot be listened on")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system gave no threads, signals or connections.
    #[error("it cannot run: {0}")]
    Run(#[source] std::io::Error),
    /// The library for TLS refused its own defaults.
    #[error("tls cannot be set up: {0}")]
    Tls(#[source] rustls::Error),
}

impl Service {
    /// Takes the port; port 0 takes a free one. Nothing is answered before [`Service::run`].
    pub(crate) fn bind(listen: SocketAddr, thread_name: &str) -> Result<Self, ServiceError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_name(thread_name)
            .build()
            .map_err(ServiceError::Run)?;
        let listener =
            runtime
                .block_on(TcpListener::bind(listen))
                .map_err(|source| ServiceError::Listen {
                    address: listen,
                    source,
                })?;
        let address = listener.local_addr().map_err(ServiceError::Run)?;
        Ok(Self {
            runtime,
            listener,
            address,
            stop: watch::Sender::new(false),
        })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    pub(crate) fn stop_on_signals(&self) -> Result<(), ServiceError> {
        let _runtime = self.runtime.enter();
        let stopper = self.stopper();
        let signals = signals().map_err(ServiceError::Run)?;
        self.runtime.spawn(async move {
            signals.await;
            stopper.stop();
        });
        Ok(())
    }

    /// Answers until it is stopped, and for `grace` what is open then. Returns the runtime, which still has what was
    /// not answered.
    pub(crate) fn run(self, app: Router, grace: Duration) -> (Runtime, Result<(), ServiceError>) {
        let listener = self.listener.tap_io(|connection| {
            // Pieces of a stream must not wait for each other. A connection without it is slower, not wrong.
            let _ = connection.set_nodelay(true);
        });
        let (mut begun, mut ending) = (self.stop.subscribe(), self.stop.subscribe());
        let served = self.runtime.block_on(async move {
            let serving = axum::serve(listener, app).with_graceful_shutdown(async move {
                let _ = begun.wait_for(|stopped| *stopped).await;
            });
            tokio::select! {
                served = serving => served,
                () = async {
                    let _ = ending.wait_for(|stopped| *stopped).await;
                    tokio::time::sleep(grace).await;
                } => Ok(()),
            }
        });
        (self.runtime, served.map_err(ServiceError::Run))
    }
}

/// Waits for the first signal that asks to end.
#[cfg(unix)]
fn signals() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
fn signals() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
