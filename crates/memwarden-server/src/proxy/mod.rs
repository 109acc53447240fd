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

use crate::service::{Service, ServiceError, Stopper};
use memwarden::core::model::Purpose;
use memwarden::model::Meter;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

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
    service: Service,
    shared: Arc<forward::Shared>,
}

impl Proxy {
    /// Takes the port. No call is answered before [`Proxy::run`].
    ///
    /// # Errors
    ///
    /// If the address is taken or not ours, or the system gives no threads.
    pub fn bind(settings: Settings, meter: Arc<Meter>) -> Result<Self, ServiceError> {
        let service = Service::bind(settings.listen, "memwarden-proxy")?;
        let shared = forward::Shared::new(settings, meter).map_err(ServiceError::Tls)?;
        Ok(Self {
            service,
            shared: Arc::new(shared),
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.service.address()
    }

    /// What stops it.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.service.stopper()
    }

    /// Also stops at SIGINT and SIGTERM.
    ///
    /// # Errors
    ///
    /// If the system refuses the handlers.
    pub fn stop_on_signals(&self) -> Result<(), ServiceError> {
        self.service.stop_on_signals()
    }

    /// Serves until it is stopped. When it returns, every call that it took is in the meter: those that were still
    /// open after the grace as cut off.
    ///
    /// # Errors
    ///
    /// If the system takes the listener away.
    pub fn run(self) -> Result<(), ServiceError> {
        let grace = self.shared.limits().grace;
        let (runtime, served) = self.service.run(routes::router(self.shared), grace);
        // Drops what is still open; each account closes itself then.
        drop(runtime);
        served
    }
}
