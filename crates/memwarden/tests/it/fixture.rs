//! A store in a temporary directory, with its keys and witness beside it.

use memwarden::{Clock, Handle, Options, Places, Role, Warden, WardenError};
use memwarden_core::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Time that stands still until a test moves it.
#[derive(Debug)]
pub struct TestClock(AtomicU64);

impl TestClock {
    pub fn set(&self, micros: u64) {
        self.0.store(micros, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

pub const START: u64 = 1_800_000_000_000_000;

pub struct Fixture {
    pub dir: tempfile::TempDir,
    pub places: Places,
    pub made: memwarden::Made,
    pub clock: Arc<TestClock>,
}

impl Fixture {
    pub fn new(preset: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let places = Places::within(at("store"), at("keys"), at("witness"));
        let policy = memwarden::guard::preset(preset).unwrap();
        let made = Warden::init_at(&places, &policy, Timestamp::from_micros(START)).unwrap();
        Self {
            dir,
            places,
            made,
            clock: Arc::new(TestClock(AtomicU64::new(START))),
        }
    }

    pub fn options(&self) -> Options {
        let clock: Arc<dyn Clock> = self.clock.clone();
        Options {
            clock,
            ..Options::default()
        }
    }

    pub fn try_open(&self) -> Result<Arc<Warden>, WardenError> {
        Warden::open_with(&self.places, &self.options())
    }

    pub fn open(&self) -> Arc<Warden> {
        self.try_open().unwrap()
    }

    pub fn handle(&self, warden: &Arc<Warden>, role: Role) -> Handle {
        warden.handle(&self.made.credential(role).unwrap()).unwrap()
    }
}
