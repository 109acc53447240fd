//! The endpoint that calls go to: its address, and the client that reaches it.

use bytes::Bytes;
use http::Uri;
use http::uri::{Authority, InvalidUri, PathAndQuery, Scheme};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an idle connection is kept; below the minute after which many servers close theirs.
const IDLE: Duration = Duration::from_secs(50);

/// The client that sends calls. It follows no redirect and adds no header but `host`.
pub(super) type Sender = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Where an OpenAI-compatible endpoint stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
    /// What stands before `/v1`: empty, or with a leading and no trailing slash.
    prefix: String,
}

/// An address that no call can go to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// It is no address.
    #[error(
        "`upstream`: `{given}` is no address; expected `http://HOST[:PORT]` or `https://…`, with or without `/v1`"
    )]
    Address {
        /// What was given.
        given: String,
    },
    /// It holds a name or password, which would be shown wherever the address is. They are not repeated here.
    #[error(
        "`upstream` holds a user name or password; keys travel in the client's own `authorization` header"
    )]
    Secret,
    /// It is the address of one route, below which there is none.
    #[error(
        "`upstream`: `{given}` is the address of a route; expected where the protocol begins, up to `/v1`"
    )]
    Route {
        /// What was given.
        given: String,
    },
    /// It has a query, or a fragment.
    #[error("`upstream`: `{given}` has a query or a fragment; calls bring their own")]
    Query {
        /// What was given.
        given: String,
    },
}

impl Upstream {
    /// Reads an address. A trailing `/v1` says the same as none.
    ///
    /// # Errors
    ///
    /// If it is not an `http` or `https` address without user name and query.
    ///
    /// ```
    /// use memwarden_server::proxy::Upstream;
    /// let given = Upstream::parse("https://api.example.com/openai/v1/").unwrap();
    /// assert_eq!(given.to_string(), "https://api.example.com/openai");
    /// ```
    pub fn parse(given: &str) -> Result<Self, UpstreamError> {
        if given.contains('@') {
            return Err(UpstreamError::Secret);
        }
        let address = || UpstreamError::Address {
            given: given.to_owned(),
        };
        let uri = Uri::from_str(given).map_err(|_| address())?;
        // A parser leaves out a fragment without a word.
        if uri.query().is_some() || given.contains('#') {
            return Err(UpstreamError::Query {
                given: given.to_owned(),
            });
        }
        let parts = uri.into_parts();
        let scheme = parts
            .scheme
            .filter(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS)
            .ok_or_else(address)?;
        let path = parts.path_and_query.as_ref().map_or("", PathAndQuery::path);
        let path = path.trim_end_matches('/');
        if ["/chat/completions", "/embeddings"]
            .iter()
            .any(|route| path.ends_with(route))
        {
            return Err(UpstreamError::Route {
                given: given.to_owned(),
            });
        }
        let prefix = path.strip_suffix("/v1").unwrap_or(path).to_owned();
        let authority = parts.authority.ok_or_else(address)?;
        // Behind the host, its brackets among it, there is nothing or a port.
        let port = authority
            .as_str()
            .strip_prefix(authority.host())
            .unwrap_or_default();
        if !port.is_empty() && authority.port_u16().is_none_or(|port| port == 0) {
            return Err(address());
        }
        Ok(Self {
            scheme,
            authority,
            prefix,
        })
    }

    /// The address of a call: `path` begins with a slash and follows `/v1`; `query` stands without its mark.
    pub(super) fn uri(&self, path: &str, query: Option<&str>) -> Result<Uri, InvalidUri> {
        let prefix = &self.prefix;
        let path = match query {
            None => format!("{prefix}/v1{path}"),
            Some(query) => format!("{prefix}/v1{path}?{query}"),
        };
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(PathAndQuery::from_str(&path)?);
        // With scheme, authority and path there is nothing left to refuse.
        Ok(Uri::from_parts(parts).unwrap_or_default())
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.prefix)
    }
}

/// A client with TLS by `ring` and the roots of Mozilla's list.
pub(super) fn sender() -> Result<Sender, rustls::Error> {
    let mut plain = HttpConnector::new();
    plain.enforce_http(false);
    plain.set_nodelay(true);
    plain.set_connect_timeout(Some(CONNECT));
    let connector = HttpsConnectorBuilder::new()
        .with_provider_and_webpki_roots(Arc::new(rustls::crypto::ring::default_provider()))?
        .https_or_http()
        .enable_http1()
        .wrap_connector(plain);
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .build(connector))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_goes_below_v1_once() {
        for given in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"] {
            let upstream = Upstream::parse(given).unwrap();
            let uri = upstream.uri("/chat/completions", None).unwrap();
            assert_eq!(uri, "http://h:1/v1/chat/completions", "{given}");
        }
        let nested = Upstream::parse("https://h/a/v1").unwrap();
        assert_eq!(
            nested.uri("/models/x%2Fy", Some("api-version=1")).unwrap(),
            "https://h/a/v1/models/x%2Fy?api-version=1"
        );
    }

    #[test]
    fn an_address_that_is_none_is_named_and_a_secret_is_not() {
        for given in [
            "",
            "h:1",
            "/v1",
            "ftp://h",
            "http://",
            "unix:/run/x",
            "http://h:99999",
            "http://h:0",
            "http://h:",
            "http://[::1]:99999/v1",
        ] {
            let error = Upstream::parse(given).unwrap_err();
            assert!(matches!(error, UpstreamError::Address { .. }), "{given}: {error}");
        }
        let error = Upstream::parse("https://me:hunter2@h/").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        for given in ["http://h/?key=1", "http://h/v1#f"] {
            assert!(
                matches!(Upstream::parse(given), Err(UpstreamError::Query { .. })),
                "{given}"
            );
        }
        for given in ["http://h/v1/chat/completions", "http://h/v1/embeddings/"] {
            assert!(
                matches!(Upstream::parse(given), Err(UpstreamError::Route { .. })),
                "{given}"
            );
        }
        assert_eq!(
            Upstream::parse("http://[::1]:8080/v1").unwrap().to_string(),
            "http://[::1]:8080"
        );
    }
}
