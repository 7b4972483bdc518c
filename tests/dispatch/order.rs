//! Order: publications, nested ones, and who is told when (R1 to R6, R15 to R18).

use std::cell::RefCell;
use std::rc::Rc;

use pitlane::dispatch::{CommandQueue, DispatchError, Topic};

use crate::rig::{Event, Recorder, Rig, TOPIC};

#[test]
fn worked_example_exactly() {
    let rig = Rig::new();
    let commands: CommandQueue<&'static str> = CommandQueue::new(&rig.d);
    let sender = commands.sender();
    rig.on("S1(A)", move |rig| {
        rig.publish(&["S3(B)"]);
        sender.send("C");
    });
    rig.publish(&["S1(A)", "S2(A)"]);
    assert_eq!(rig.positions(), ["1.2", "1.3"]);

    assert_eq!(rig.d.boundary(1), Ok(true));
    assert_eq!(rig.log(), ["S1(A)"]);
    assert_eq!(rig.positions(), ["1.3", "4.5"]);
    assert_eq!(rig.d.boundary(1), Ok(true));
    assert_eq!(rig.log(), ["S2(A)"]);
    assert_eq!(rig.d.boundary(1), Ok(false));
    assert_eq!(rig.log(), ["S3(B)"]);
    assert_eq!(rig.d.boundary(1), Ok(false));
    assert_eq!(rig.d.clear(), Err(DispatchError::Active), "C owns the root");

    let mut kept = None;
    let ran = commands.drain(|command, _| {
        assert_eq!(command, "C");
        let root = rig.d.retain::<()>(0).expect("room");
        assert_eq!(root.deliveries(), 3, "the command itself charges nothing");
        rig.admit("S4(C)");
        kept = Some(root);
    });
    assert_eq!(ran, 1);
    assert_eq!(rig.d.boundary(1), Ok(false));
    assert_eq!(rig.log(), ["S4(C)"]);
    assert_eq!(kept.expect("the command ran").deliveries(), 4);
    assert_eq!(rig.d.clear(), Ok(()));
}

#[test]
fn worked_example_with_the_command_between_the_passes() {
    let rig = Rig::new();
    let commands: CommandQueue<&'static str> = CommandQueue::new(&rig.d);
    let sender = commands.sender();
    rig.on("S1(A)", move |rig| {
        rig.publish(&["S3(B)"]);
        sender.send("C");
    });
    rig.publish(&["S1(A)", "S2(A)"]);
    assert_eq!(rig.d.boundary(1), Ok(true));
    commands.drain(|_, _| rig.admit("S4(C)"));
    rig.drain_all();
    let log = rig.log_with_roots();
    assert_eq!(log, ["S1(A)@R1", "S2(A)@R1", "S3(B)@R1", "S4(C)@R1"]);
}

#[test]
fn t01_nested_publications_wait_for_later_recipients_of_their_encloser() {
    let rig = Rig::new();
    rig.d.publication(|| {
        rig.admit("11");
        rig.publish(&["21"]);
        rig.admit("12");
    });
    rig.drain_all();
    assert_eq!(rig.log(), ["11", "12", "21"]);
}

#[test]
fn t02_a01_the_root_of_a_nested_scope_becomes_the_enclosers() {
    let rig = Rig::new();
    rig.d.publication(|| {
        rig.publish(&["in"]);
        rig.admit("out");
    });
    rig.drain_all();
    assert_eq!(rig.log_with_roots(), ["out@R1", "in@R1"]);
}

#[test]
fn t03_each_publication_and_each_direct_admission_has_its_root() {
    let rig = Rig::new();
    rig.publish(&["a1", "a2"]);
    rig.publish(&["b1"]);
    rig.admit("x");
    rig.admit("y");
    rig.drain_all();
    assert_eq!(
        rig.log_with_roots(),
        ["a1@R1", "a2@R1", "b1@R2", "x@R3", "y@R4"]
    );
}

#[test]
fn t04_admissions_of_a_callback_go_behind_what_waits_and_share_its_root() {
    let rig = Rig::new();
    rig.on("A", |rig| {
        rig.admit("d1");
        rig.publish(&["p1", "p2"]);
        rig.admit("d2");
    });
    rig.publish(&["A", "B"]);
    rig.drain_all();
    let log = rig.log_with_roots();
    assert_eq!(log, ["A@R1", "B@R1", "d1@R1", "p1@R1", "p2@R1", "d2@R1"]);
}

#[test]
fn t19_a07_independent_ingress_in_a_publication_keeps_its_ordinal_and_has_its_root() {
    let rig = Rig::new();
    rig.d.publication(|| {
        rig.admit("p");
        rig.d.independent(|| {
            rig.admit("t1");
            rig.admit("t2");
        });
        rig.admit("q");
    });
    assert_eq!(rig.positions(), ["1.2", "1.3", "1.4", "1.5"]);
    rig.drain_all();
    assert_eq!(rig.log_with_roots(), ["p@R1", "t1@R2", "t2@R2", "q@R1"]);
}

#[test]
fn r01_the_ordinal_is_taken_before_tap_and_subscribers_run() {
    let rig = Rig::new();
    rig.d.subscribe(TOPIC, rig.first).expect("in range");
    let nested = Topic(4);
    rig.d.subscribe(nested, rig.first).expect("in range");
    let once = RefCell::new(true);
    rig.d.with_routes(|routes| {
        routes.set_tap(Some(Rc::new(move |d, topic, event: &Event| {
            if topic == TOPIC && once.take() {
                d.publish(nested, &Event::new(&format!("tap({})", event.name)));
            }
        })));
        let subscriber = move |d: &pitlane::dispatch::Dispatcher<Event>, event: &Event| {
            d.publish(nested, &Event::new(&format!("direct({})", event.name)));
        };
        routes
            .subscribe_direct(TOPIC, Rc::new(subscriber))
            .expect("in range");
    });
    rig.d.publish(TOPIC, &Event::new("a"));
    // The outer publication is 1, although its recipient is admitted last.
    assert_eq!(rig.positions(), ["1.6", "2.3", "4.5"]);
    rig.drain_all();
    assert_eq!(rig.log(), ["a", "tap(a)", "direct(a)"]);
}

#[test]
fn r02_deep_nesting_delivers_by_publication_then_admission() {
    let rig = Rig::new();
    rig.admit("0");
    rig.d.publication(|| {
        rig.d.publication(|| {
            rig.publish(&["3a"]);
            rig.admit("2a");
            rig.publish(&["4a", "4b"]);
            rig.admit("2b");
        });
        rig.admit("1a");
        rig.publish(&["5a"]);
        rig.admit("1b");
    });
    rig.admit("6");
    rig.drain_all();
    let expected = ["0", "1a", "1b", "2a", "2b", "3a", "4a", "4b", "5a", "6"];
    assert_eq!(rig.log(), expected);
}

#[test]
fn r03_the_order_holds_across_components_and_topics_idle_or_active() {
    let rig = Rig::new();
    let other = rig.add(Recorder::new(&rig, "other:"));
    for (topic, id) in [(1, rig.first), (1, other), (2, other), (2, rig.first)] {
        rig.d.subscribe(Topic(topic), id).expect("in range");
    }
    // `other` is idle when "b" is published by the active one, and must not be first.
    let once = RefCell::new(true);
    rig.on("a", move |rig| {
        if once.take() {
            rig.d.publish(Topic(2), &Event::new("b"));
        }
    });
    rig.d.publish(Topic(1), &Event::new("a"));
    rig.d.publish(Topic(2), &Event::new("c"));
    rig.drain_all();
    assert_eq!(rig.log(), ["a", "other:a", "other:c", "c", "other:b", "b"]);
}

#[test]
fn r04_scopes_nest_restore_and_never_deliver() {
    let rig = Rig::new();
    rig.d.publication(|| {
        rig.admit("a");
        assert!(rig.d.active_root().is_some(), "made by the first admission");
        let outer = rig.d.active_root();
        rig.d.independent(|| {
            assert_eq!(rig.d.active_root(), None);
            rig.admit("b");
            assert_ne!(rig.d.active_root(), outer);
        });
        assert_eq!(rig.d.active_root(), outer);
        assert_eq!(rig.log(), [""; 0], "nothing was delivered");
    });
    assert_eq!(rig.d.active_root(), None);
    assert_eq!(rig.log(), [""; 0], "nothing was delivered");
    // Outside again: the next admission is a publication of its own.
    rig.admit("c");
    assert_eq!(rig.positions(), ["1.2", "1.3", "4.4"]);
}

#[test]
fn r05_every_publish_path_opens_a_scope_a_fallible_one_after_its_check() {
    let rig = Rig::new();
    rig.d.subscribe(TOPIC, rig.first).expect("in range");
    let refused = rig
        .d
        .with_routes(|_| rig.d.try_publish(TOPIC, &Event::new("no")));
    let error = refused.expect_err("the routes are in use").to_string();
    assert_eq!(
        error,
        "try_publish: the routes is in use; end that use first"
    );
    // No ordinal was used up, and a scope alone admits and drains nothing.
    rig.d.publish(Topic(9), &Event::new("nobody listens"));
    assert_eq!(rig.d.queued(), 0);
    rig.d
        .try_publish(TOPIC, &Event::new("yes"))
        .expect("free again");
    assert_eq!(rig.positions(), ["2.3"]);
}

#[test]
fn r06_a_direct_subscriber_runs_at_once_and_its_publications_keep_the_order() {
    let rig = Rig::new();
    rig.d.subscribe(TOPIC, rig.first).expect("in range");
    rig.d.subscribe(Topic(4), rig.first).expect("in range");
    let seen = Rc::new(RefCell::new(Vec::new()));
    let seen_there = Rc::clone(&seen);
    rig.d.with_routes(|routes| {
        let subscriber = move |d: &pitlane::dispatch::Dispatcher<Event>, event: &Event| {
            seen_there.borrow_mut().push(event.name.clone());
            d.publish(Topic(4), &Event::new("nested"));
            assert_eq!(d.boundary(1), Err(DispatchError::Active));
        };
        routes
            .subscribe_direct(TOPIC, Rc::new(subscriber))
            .expect("in range");
    });
    rig.d.publish(TOPIC, &Event::new("outer"));
    assert_eq!(*seen.borrow(), ["outer"], "already");
    rig.drain_all();
    assert_eq!(rig.log(), ["outer", "nested"]);
}

#[test]
fn r15_r17_maintenance_runs_before_author_code_and_publishes_into_the_same_queue() {
    let rig = Rig::new();
    let id = rig.add(Recorder {
        maintains: true,
        ..Recorder::new(&rig, "")
    });
    rig.on("maintain(a)", move |rig| {
        rig.d
            .admit(id, || Event::new("from maintenance"))
            .expect("room");
    });
    rig.d.publication(|| {
        for name in ["a", "b"] {
            rig.d.admit(id, || Event::new(name)).expect("room");
        }
    });
    rig.drain_all();
    let expected = [
        "maintain(a)",
        "a",
        "maintain(b)",
        "b",
        "maintain(from maintenance)",
        "from maintenance",
    ];
    assert_eq!(rig.log(), expected);
}

#[test]
fn t21_r18_a_callback_has_its_events_payload_and_the_present_cache() {
    let rig = Rig::new();
    let cache = Rc::new(RefCell::new(String::new()));
    let seen = Rc::clone(&cache);
    rig.on("E1", move |rig| {
        rig.note(&format!("cache {}", seen.borrow()));
    });
    *cache.borrow_mut() = "E1".into();
    rig.admit("E1");
    *cache.borrow_mut() = "E2".into();
    rig.drain_all();
    assert_eq!(rig.log(), ["E1", "cache E2"]);
}

#[test]
fn r87_author_signatures_hide_tickets_and_scopes() {
    use pitlane::dispatch::{Component, Context};
    // What an author can reach from a callback: the event and the context. That this
    // compiles is the check: no reservation, root, scope or dispatcher is in it.
    struct Author;
    impl Component<Event> for Author {
        fn name(&self) -> &str {
            "author"
        }
        fn on_event(&mut self, event: &Event, cx: &Context<'_, Event>) {
            if event.name == "a" {
                cx.publish(TOPIC, &Event::new("b"));
                cx.post(cx.component(), Event::new("c")).expect("room");
            }
        }
    }
    let rig = Rig::new();
    let author = rig.add(Author);
    rig.d.subscribe(TOPIC, rig.first).expect("in range");
    rig.d.admit(author, || Event::new("a")).expect("room");
    rig.drain_all();
    assert_eq!(rig.log(), ["b"]);
}
