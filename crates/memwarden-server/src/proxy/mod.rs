//! The metering proxy: stands between a program and an OpenAI-compatible endpoint, passes every byte on as it came,
//! and writes into the meter what each call was for and what it used.
//!
//! It is not a gateway. It does not choose models, retry, cache, hold keys or change a body; what an endpoint
//! refuses, the client sees refused in the endpoint's own words.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use memwarden::model::{Meter, Prices};
//! use memwarden_server::proxy::{Limits, Proxy, Settings, Upstream};
//! use std::sync::Arc;
//!
//! let settings = Settings {
//!     listen: "127.0.0.1:0".parse()?,
//!     upstream: Upstream::parse("http://127.0.0.1:8080")?,
//!     default_purpose: None,
//!     limits: Limits::default(),
//! };
//! let proxy = Proxy::bind(settings, Arc::new(Meter::in_memory(Prices::default())))?;
//! println!("{}", proxy.address());
//! proxy.stopper().stop();
//! proxy.run()?;
//! # Ok(())
//! # }
//! ```

mod account;
mod asked;
mod events;
mod forward;
mod headers;
mod labels;
mod problem;
mod prompt;
mod relay;
mod reply;
mod routes;
mod upstream;

pub use labels::{CELL_HEADER, PURPOSE_HEADER};
pub use upstream::{Upstream, UpstreamError};

use axum::serve::ListenerExt as _;
use memwarden::core::model::Purpose;
use memwarden::model::Meter;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// What a proxy is made from.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where calls go.
    pub upstream: Upstream,
    /// What a call counts as that names no purpose. Without it such a call is refused: a call that nobody can
    /// account for is the mistake that a meter is there to find.
    pub default_purpose: Option<Purpose>,
    /// How much and how long.
    pub limits: Limits,
}

/// How much is read and how long is waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Longest body of a request, in bytes.
    pub request_bytes: usize,
    /// Longest reply that is read for its `usage`, in bytes. A longer one is passed on all the same.
    pub reply_bytes: usize,
    /// Longest wait for the head of a reply. A model may think for minutes.
    pub head: Duration,
    /// Longest silence between two pieces of a reply, or of a request's body, and longest time for which a client may not
    /// read what has come.
    pub silence: Duration,
    /// How long open calls may go on after the stop.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_bytes: 32 << 20,
            reply_bytes: 32 << 20,
            head: Duration::from_mins(10),
            silence: Duration::from_mins(2),
            grace: Duration::from_secs(10),
        }
    }
}

/// A proxy that has its port.
#[derive(Debug)]
pub struct Proxy {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<forward::Shared>,
    stop: watch::Sender<bool>,
}

/// Stops a proxy from another thread.
#[derive(Debug, Clone)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Asks the proxy to take no more calls and to end the open ones within its grace.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// A proxy that could not start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// The address cannot be had.
    #[error("`listen`: `{address}` cannot be listened on")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system gave no threads, signals or connections.
    #[error("the proxy cannot run: {0}")]
    Run(#[source] std::io::Error),
    /// The library for TLS refused its own defaults.
    #[error("tls cannot be set up: {0}")]
    Tls(#[source] rustls::Error),
}

impl Proxy {
    /// Takes the port. No call is answered before [`Proxy::run`].
    ///
    /// # Errors
    ///
    /// If the address is taken or not ours, or the system gives no threads.
    pub fn bind(settings: Settings, meter: Arc<Meter>) -> Result<Self, ProxyError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_name("memwarden-proxy")
            .build()
            .map_err(ProxyError::Run)?;
        let listener = runtime
            .block_on(TcpListener::bind(settings.listen))
            .map_err(|source| ProxyError::Listen {
                address: settings.listen,
                source,
            })?;
        let address = listener.local_addr().map_err(ProxyError::Run)?;
        let shared = forward::Shared::new(settings, meter).map_err(ProxyError::Tls)?;
        Ok(Self {
            runtime,
            listener,
            address,
            shared: Arc::new(shared),
            stop: watch::Sender::new(false),
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What stops it.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Also stops at SIGINT and SIGTERM.
    ///
    /// # Errors
    ///
    /// If the system refuses the handlers.
    pub fn stop_on_signals(&self) -> Result<(), ProxyError> {
        let _runtime = self.runtime.enter();
        let stopper = self.stopper();
        let signals = signals().map_err(ProxyError::Run)?;
        self.runtime.spawn(async move {
            signals.await;
            stopper.stop();
        });
        Ok(())
    }

    /// Serves until it is stopped. When it returns, every call that it took is in the meter: those that were still
    /// open after the grace as cut off.
    ///
    /// # Errors
    ///
    /// If the system takes the listener away.
    pub fn run(self) -> Result<(), ProxyError> {
        let grace = self.shared.limits().grace;
        let listener = self.listener.tap_io(|connection| {
            // Pieces of a stream must not wait for each other. A connection without it is slower, not wrong.
            let _ = connection.set_nodelay(true);
        });
        let app = routes::router(self.shared);
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
        // Drops what is still open; each account closes itself then.
        drop(self.runtime);
        served.map_err(ProxyError::Run)
    }
}

/// Waits for the first signal that asks to end.
#[cfg(unix)]
pub(crate) fn signals() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
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
pub(crate) fn signals() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
