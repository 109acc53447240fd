//! How many requests run at once: a count and a queue.

use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, PoisonError};

#[derive(Debug)]
pub(super) struct Gate {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Gate {
    pub(super) fn new(at_once: NonZeroUsize) -> Self {
        Self {
            free: Mutex::new(at_once.get()),
            freed: Condvar::new(),
        }
    }

    /// Returns when it is the caller's turn, which lasts as long as what it returns.
    pub(super) fn enter(&self) -> Turn<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self
            .freed
            .wait_while(free, |free| *free == 0)
            .unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Turn { gate: self }
    }
}

#[derive(Debug)]
pub(super) struct Turn<'a> {
    gate: &'a Gate,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.gate.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.gate.freed.notify_one();
    }
}
