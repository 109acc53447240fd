//! The byte format of leaves and payloads: big-endian integers, `u32` length prefixes, one byte for
//! absent (0) or present (1). The page `docs/ledger-format.md` describes it for other implementations.

/// Bytes were not a value in the canonical encoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end inside a value.
    #[error("encoding ends early while reading `{field}`")]
    Short {
        /// The field.
        field: &'static str,
    },
    /// Bytes follow the last value.
    #[error("{count} bytes follow the last field")]
    Trailing {
        /// How many.
        count: usize,
    },
    /// A value that no writer of this version produces.
    #[error("field `{field}` holds {given}, which this version does not know")]
    Unknown {
        /// The field.
        field: &'static str,
        /// What it holds.
        given: u64,
    },
    /// Text that is not UTF-8.
    #[error("field `{field}` is not UTF-8")]
    NotUtf8 {
        /// The field.
        field: &'static str,
    },
    /// A wrong leading tag.
    #[error("expected the tag `{expected}`")]
    Tag {
        /// The tag.
        expected: &'static str,
    },
}

/// Writes values in order.
#[derive(Debug, Default, Clone)]
pub struct Encoder(Vec<u8>);

impl Encoder {
    /// Starts with a tag and a version byte.
    #[must_use]
    pub fn tagged(tag: &str, version: u8) -> Self {
        let mut bytes = Vec::with_capacity(512);
        bytes.extend_from_slice(tag.as_bytes());
        bytes.push(version);
        Self(bytes)
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// Bytes of a length that the format fixes.
    pub fn fixed(&mut self, value: &[u8]) -> &mut Self {
        self.0.extend_from_slice(value);
        self
    }

    /// Bytes with a length prefix. Lengths above `u32::MAX` cannot pass the limits of an entry.
    pub fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.u32(u32::try_from(value.len()).unwrap_or(u32::MAX))
            .fixed(value)
    }

    /// Absent, or present and written by `write`.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) -> &mut Self {
        match value {
            None => self.u8(0),
            Some(value) => {
                self.u8(1);
                write(self, value);
                self
            }
        }
    }

    /// A count, then each item written by `write`.
    pub fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.u32(u32::try_from(items.len()).unwrap_or(u32::MAX));
        items.iter().for_each(|item| write(self, item));
        self
    }

    /// The bytes written so far.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads values in order; every method fails with [`DecodeError::Short`] where the bytes end.
#[derive(Debug, Clone)]
pub struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    /// Reads `bytes` that have no tag.
    #[must_use]
    pub const fn raw(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Reads `bytes` that must start with `tag` and `version`.
    ///
    /// # Errors
    /// A wrong tag, or a version that is not `version`.
    pub fn tagged(bytes: &'a [u8], tag: &'static str, version: u8) -> Result<Self, DecodeError> {
        let mut decoder = Self(
            bytes
                .strip_prefix(tag.as_bytes())
                .ok_or(DecodeError::Tag { expected: tag })?,
        );
        match decoder.u8("version")? {
            given if given == version => Ok(decoder),
            given => Err(DecodeError::Unknown {
                field: "version",
                given: given.into(),
            }),
        }
    }

    /// One byte.
    ///
    /// # Errors
    /// The bytes end early.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        let [byte] = self.array(field)?;
        Ok(byte)
    }

    /// Four bytes.
    ///
    /// # Errors
    /// The bytes end early.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_be_bytes)
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// The bytes end early.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.array(field).map(u64::from_be_bytes)
    }

    /// Bytes of a fixed length.
    ///
    /// # Errors
    /// The bytes end early.
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let (head, rest) = self.0.split_first_chunk().ok_or(DecodeError::Short { field })?;
        self.0 = rest;
        Ok(*head)
    }

    /// Bytes with a length prefix.
    ///
    /// # Errors
    /// The bytes end early.
    pub fn bytes(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let length = self.u32(field)? as usize;
        let (head, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(DecodeError::Short { field })?;
        self.0 = rest;
        Ok(head)
    }

    /// Text with a length prefix.
    ///
    /// # Errors
    /// The bytes end early or are not UTF-8.
    pub fn text(&mut self, field: &'static str) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.bytes(field)?).map_err(|_| DecodeError::NotUtf8 { field })
    }

    /// A byte that `known` maps to a value.
    ///
    /// # Errors
    /// The bytes end early, or the byte is not known.
    pub fn code<T>(
        &mut self,
        field: &'static str,
        known: impl Fn(u8) -> Option<T>,
    ) -> Result<T, DecodeError> {
        let code = self.u8(field)?;
        known(code).ok_or(DecodeError::Unknown {
            field,
            given: code.into(),
        })
    }

    /// A value that may be absent.
    ///
    /// # Errors
    /// Those of `read`, or a presence byte other than 0 and 1.
    pub fn option<T>(
        &mut self,
        field: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        match self.u8(field)? {
            0 => Ok(None),
            1 => read(self).map(Some),
            given => Err(DecodeError::Unknown {
                field,
                given: given.into(),
            }),
        }
    }

    /// A counted list.
    ///
    /// # Errors
    /// Those of `read`. A count larger than the bytes that remain fails before anything is reserved.
    pub fn list<T>(
        &mut self,
        field: &'static str,
        mut read: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.u32(field)? as usize;
        if count > self.0.len() {
            return Err(DecodeError::Short { field });
        }
        (0..count).map(|_| read(self)).collect()
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`DecodeError::Trailing`] if bytes remain.
    pub const fn finish(self) -> Result<(), DecodeError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(DecodeError::Trailing { count: self.0.len() })
        }
    }
}
