//! Which headers travel.
//!
//! Everything does, except what belongs to one connection (RFC 9110, section 7.6.1), what the next hop sets anew,
//! and the two headers that are meant for the proxy.

use super::labels::{CELL_HEADER, PURPOSE_HEADER};
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

/// Headers of one connection, whoever names them.
const HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Turns the headers of a request into those of the call to the endpoint.
pub(super) fn of_request(headers: &mut HeaderMap) {
    strip(headers);
    for name in [HOST, CONTENT_LENGTH, EXPECT] {
        headers.remove(name);
    }
    headers.remove(PURPOSE_HEADER);
    headers.remove(CELL_HEADER);
    // A compressed reply would have to be unpacked to find its usage.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// Turns the headers of the endpoint's reply into those of ours. Its length stays: so does the body.
pub(super) fn of_reply(headers: &mut HeaderMap) {
    strip(headers);
}

fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_one_connection_stays_there() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "127.0.0.1:1"),
            ("connection", "keep-alive, X-Private"),
            ("keep-alive", "timeout=5"),
            ("x-private", "1"),
            ("te", "trailers"),
            ("proxy-authorization", "Basic x"),
            ("transfer-encoding", "chunked"),
            ("accept-encoding", "gzip"),
            ("x-memwarden-purpose", "extract"),
            ("x-memwarden-cell", "7"),
            ("authorization", "Bearer k"),
            ("x-of-tomorrow", "kept"),
            ("x-of-tomorrow", "twice"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        of_request(&mut headers);
        let mut left: Vec<String> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                "accept-encoding: identity",
                "authorization: Bearer k",
                "x-of-tomorrow: kept",
                "x-of-tomorrow: twice"
            ]
        );
    }
}
