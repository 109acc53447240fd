use crate::fixture::Fixture;
use memwarden::{Depth, Entry, Namespace, Query, Role};

#[test]
fn what_was_remembered_is_recalled_after_a_restart_and_the_log_verifies() {
    let fixture = Fixture::new("warden");
    let ns = Namespace::default();
    let id = {
        let warden = fixture.open();
        let agent = fixture.handle(&warden, Role::Agent);
        for i in 0..300 {
            agent
                .remember(&ns, Entry::new(format!("filler number {i} about nothing")))
                .unwrap();
        }
        agent
            .remember(&ns, Entry::new("the harbor opens at dawn"))
            .unwrap()
            .id
    };
    let warden = fixture.open();
    let agent = fixture.handle(&warden, Role::Agent);
    let recalled = agent
        .recall(&ns, &Query::new("when does the harbor open?"))
        .unwrap();
    assert_eq!(recalled.hits[0].record.id, id);
    warden.flush().unwrap();
    let report = agent.verify(Depth::Deep, None).unwrap();
    assert!(report.is_intact(), "{report:?}");
    assert_eq!(report.entries, 4 + 301 + 1);
    assert_eq!(report.tiles, 1);
}
