//! The façade as its users see it, one sentence a test.

mod fixture;
mod smoke;
