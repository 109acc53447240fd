//! A record's vector as it is committed to and kept: which encoder made it, and its bytes.
//!
//! Not for: making vectors (an encoder) or looking for near ones (a store).

use crate::encode::Embedding;
use crate::{DecodeError, Decoder, Encoder, PAYLOAD_VERSION};

const VECTOR_TAG: &str = "memwarden-vector";

/// The vector of a record and the encoder that made it. Vectors of different encoders are never compared.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorPayload {
    /// [`crate::encode::Encode::name`] of the encoder.
    pub encoder: String,
    /// The vector.
    pub embedding: Embedding,
}

impl VectorPayload {
    /// Canonical bytes. A leaf commits to them with the salt of the record's payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::tagged(VECTOR_TAG, PAYLOAD_VERSION);
        e.bytes(self.encoder.as_bytes()).bytes(&self.embedding.to_bytes());
        e.finish()
    }

    /// Reads what [`VectorPayload::encode`] writes.
    ///
    /// # Errors
    /// Bytes that it did not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut d = Decoder::tagged(bytes, VECTOR_TAG, PAYLOAD_VERSION)?;
        let encoder = d.text("encoder")?.to_owned();
        let embedding = Embedding::from_bytes(d.bytes("vector")?)?;
        d.finish()?;
        Ok(Self { encoder, embedding })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_returns_what_was_encoded_and_nothing_else_is_read() {
        let payload = VectorPayload {
            encoder: "test".to_owned(),
            embedding: Embedding::quantize(&[1.0, -0.5, 0.25]).unwrap(),
        };
        let bytes = payload.encode();
        assert_eq!(VectorPayload::decode(&bytes).unwrap(), payload);
        for cut in 0..bytes.len() {
            assert!(VectorPayload::decode(&bytes[..cut]).is_err(), "{cut}");
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(VectorPayload::decode(&longer).is_err());
    }
}
