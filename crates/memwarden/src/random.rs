//! Fresh ids and salts from the system's generator.

use crate::WardenError;
use memwarden_core::Salt;

pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], WardenError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| WardenError::Random {
        reason: error.to_string(),
    })?;
    Ok(bytes)
}

pub(crate) fn salt() -> Result<Salt, WardenError> {
    bytes().map(Salt::from_bytes)
}
