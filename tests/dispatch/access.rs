//! Access: components, resources, lifecycles, and what the errors say (R14, R85).

use std::panic::{AssertUnwindSafe, catch_unwind};

use pitlane::dispatch::{
    Conflict, Fatal, Lifecycle, LifecycleError, Needs, Resource, SubscribeError, Topic,
};

use crate::rig::{Event, Recorder, Rig};

const CACHE: Resource = Resource::new(0, "the cache");
const CLIENT: Resource = Resource::new(63, "the client");

#[test]
fn r14_all_that_a_callback_reaches_must_be_free_before_it_runs() {
    let rig = Rig::new();
    let needs = Needs::NOTHING.shared(CACHE).exclusive(CLIENT);
    let id = rig.add(Recorder {
        needs,
        ..Recorder::new(&rig, "")
    });
    let admit = |name: &str| rig.d.admit(id, || Event::new(name)).expect("room");
    // Shared beside shared runs; what is needed alone has to be free.
    let reader = rig.d.hold_shared(CACHE);
    admit("a");
    assert_eq!(rig.d.drain(1), Ok(false));
    let client = rig.d.hold_shared(CLIENT);
    admit("b");
    assert_eq!(
        rig.d.drain(1),
        Ok(true),
        "the component alone is not enough"
    );
    drop(client);
    assert_eq!(rig.d.drain(1), Ok(false));
    drop(reader);
    let writer = rig.d.hold_exclusive(CACHE);
    admit("c");
    assert_eq!(rig.d.drain(1), Ok(true));
    drop(writer);
    assert_eq!(rig.d.drain(1), Ok(false));
    assert_eq!(rig.log(), ["a", "b", "c"]);
    // At a boundary it is a stalled head like any other.
    let _client = rig.d.hold_exclusive(CLIENT);
    admit("d");
    assert_eq!(rig.d.boundary(1), Err(Fatal::Stalled { target: id }.into()));
}

#[test]
fn r14_a_callback_holds_what_it_needs_while_it_runs() {
    let rig = Rig::new();
    let needs = Needs::NOTHING.shared(CACHE).exclusive(CLIENT);
    let id = rig.add(Recorder {
        needs,
        ..Recorder::new(&rig, "")
    });
    rig.on("a", |rig| {
        assert!(rig.d.try_hold_shared(CACHE).is_ok());
        assert!(rig.d.try_hold_exclusive(CACHE).is_err());
        assert!(rig.d.try_hold_shared(CLIENT).is_err());
        rig.note("asked");
    });
    rig.d.admit(id, || Event::new("a")).expect("room");
    rig.drain_all();
    assert_eq!(rig.log(), ["a", "asked"]);
    assert!(rig.d.try_hold_exclusive(CACHE).is_ok(), "given back");
    assert!(rig.d.try_hold_exclusive(CLIENT).is_ok(), "given back");
}

#[test]
fn r85_access_errors_name_resource_and_operation_and_plain_access_panics() {
    let rig = Rig::new();
    let holding = rig.d.hold_exclusive(CACHE);
    let error = rig.d.try_hold_shared(CACHE).expect_err("held");
    assert_eq!(
        error.to_string(),
        "hold_shared: the cache is in use; end that use first"
    );
    let panicked = catch_unwind(AssertUnwindSafe(|| rig.d.hold_exclusive(CACHE)));
    let message = panicked
        .expect_err("held")
        .downcast::<String>()
        .expect("a text");
    assert_eq!(
        *message,
        "hold_exclusive: the cache is in use; end that use first"
    );
    drop(holding);

    struct Other;
    impl pitlane::dispatch::Component<Event> for Other {
        fn name(&self) -> &str {
            "other"
        }
        fn on_event(&mut self, _: &Event, _: &pitlane::dispatch::Context<'_, Event>) {}
    }
    let wrong = rig
        .d
        .try_with(rig.first, |_: &mut Other| ())
        .expect_err("a Recorder");
    assert_eq!(
        (wrong.operation, wrong.conflict),
        ("with", Conflict::WrongType)
    );
    assert!(
        rig.d.try_with(rig.first, |_: &mut Recorder| ()).is_ok(),
        "put back"
    );
    rig.d.retire(rig.first).expect("registered");
    let gone = rig
        .d
        .try_with(rig.first, |_: &mut Recorder| ())
        .expect_err("retired");
    assert_eq!(
        gone.to_string(),
        "with: component 0.2 is not registered (any more)"
    );
}

#[test]
fn r85_lifecycle_overlaps_are_their_own_check() {
    let rig = Rig::new();
    let first = rig.first;
    rig.on("a", move |rig| {
        assert_eq!(rig.d.stop(first), Err(LifecycleError::Overlap(first)));
        assert_eq!(rig.d.reset(first), Err(LifecycleError::Overlap(first)));
        rig.note("asked");
    });
    rig.admit("a");
    rig.drain_all();
    assert_eq!(rig.log(), ["a", "asked"]);
    assert_eq!(rig.d.lifecycle(first), Some(Lifecycle::Running));
    let text = LifecycleError::Overlap(first).to_string();
    assert_eq!(
        text,
        "component 0.2 is in use: its lifecycle cannot change under its own callback"
    );
    rig.d.retire(first).expect("registered");
    assert_eq!(rig.d.start(first), Err(LifecycleError::Gone(first)));
    assert!(rig.d.retire(first).is_err());
}

#[test]
fn topics_have_a_range_and_subscriptions_are_single() {
    let rig = Rig::new();
    let far = Topic(u16::MAX);
    assert_eq!(
        rig.d.subscribe(far, rig.first),
        Err(SubscribeError::TopicOutOfRange(far))
    );
    let topic = Topic(1_023);
    for _ in 0..3 {
        rig.d.subscribe(topic, rig.first).expect("in range");
    }
    rig.d.publish(topic, &Event::new("once"));
    rig.d
        .with_routes(|routes| routes.unsubscribe(topic, rig.first));
    rig.d.publish(topic, &Event::new("never"));
    rig.drain_all();
    assert_eq!(rig.log(), ["once"]);
}

#[test]
fn components_have_a_bound() {
    let rig = Rig::new();
    let ids: Vec<_> = (1..4_096)
        .map(|_| {
            rig.d
                .register(Box::new(Recorder::new(&rig, "")))
                .expect("room")
        })
        .collect();
    let error = rig
        .d
        .register(Box::new(Recorder::new(&rig, "")))
        .expect_err("full");
    assert_eq!(
        error.to_string(),
        "a dispatcher has at most 4096 components; retire one first"
    );
    rig.d.retire(ids[7]).expect("registered");
    let again = rig
        .d
        .register(Box::new(Recorder::new(&rig, "")))
        .expect("one is free");
    assert_ne!(again, ids[7], "another registration in the same place");
}
