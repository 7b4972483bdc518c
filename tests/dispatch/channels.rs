//! Channels: envelopes, tokens and threads (R62 to R68, R72, T30).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use pitlane::dispatch::{
    Arriving, CommandQueue, DispatchError, Limits, SendError, StartupBuffer, channel,
};

use crate::rig::{Rig, on_drop};

#[test]
fn r62_only_the_owners_sender_captures_whatever_is_active_elsewhere() {
    let rig = Rig::new();
    let (sender, receiver) = channel::<&str, _>(&rig.d, 16);
    let foreign = sender.foreign();
    rig.d.publication(|| {
        sender.send("rooted").expect("room");
        // The foreign kind captures nothing, even here.
        foreign.send("independent").expect("room");
    });
    sender.send("outside").expect("room");
    thread::spawn(move || {
        let there = Rig::new();
        there.d.publication(|| {
            there.admit("x"); // A root is active on that thread.
            foreign.send("from a thread").expect("room");
        });
    })
    .join()
    .expect("it does not panic");
    let mut seen = Vec::new();
    while let Some(message) = receiver.try_recv() {
        seen.push((*message.value(), message.is_rooted()));
    }
    let expected = [
        ("rooted", true),
        ("independent", false),
        ("outside", false),
        ("from a thread", false),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn t30_r63_r68_a_rooted_envelope_on_another_thread() {
    let rig = Rig::new();
    let (sender, receiver) = channel::<u8, _>(&rig.d, 16);
    rig.d.publication(|| {
        sender.send(1).expect("room");
        sender.send(2).expect("room");
    });
    let (first, second) = (
        receiver.recv_envelope().expect("sent"),
        receiver.recv_envelope().expect("sent"),
    );
    assert!(first.is_rooted() && second.is_rooted());
    assert!(rig.d.has_pending());
    let called = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let there = Rig::new();
            let dispatched = catch_unwind(AssertUnwindSafe(|| {
                first.dispatch(&there.d, |_| called.store(true, Ordering::Relaxed));
            }));
            assert!(dispatched.is_err());
            drop(second);
        });
    });
    assert!(
        !called.load(Ordering::Relaxed),
        "the handler was not called"
    );
    assert!(
        !rig.d.has_pending(),
        "the roots are released at the next look"
    );
}

#[test]
fn r63_an_envelope_goes_home_with_its_root() {
    let rig = Rig::new();
    let (sender, receiver) = channel::<u8, _>(&rig.d, 16);
    let mut kept = rig.d.retain::<()>(0).expect("room");
    kept.with_chain(|_| sender.send(1)).expect("room");
    let envelope = receiver.recv_envelope().expect("sent");
    let envelope = thread::scope(|scope| {
        let passed_on = scope.spawn(move || envelope);
        passed_on.join().expect("it does not panic")
    });
    envelope.dispatch(&rig.d, |_| assert_eq!(rig.d.active_root(), kept.root()));
    assert_eq!(rig.d.active_root(), None);
    drop(kept);
    assert!(!rig.d.has_pending());
}

#[test]
fn r64_an_unrooted_message_has_an_independent_lazy_scope_even_inside_another() {
    let rig = Rig::new();
    let (sender, receiver) = channel::<&str, _>(&rig.d, 16);
    sender.send("quiet").expect("room");
    sender.send("loud").expect("room");
    let mut kept = rig.d.retain::<()>(0).expect("room");
    kept.with_chain(|_| {
        rig.admit("inside");
        let bytes = rig.d.retained().1;
        receiver.try_recv().expect("sent").dispatch(|_| {
            assert_eq!(rig.d.active_root(), None);
        });
        assert_eq!(rig.d.retained().1, bytes, "no root was made for nothing");
        receiver.try_recv().expect("sent").dispatch(|name| {
            rig.admit(name);
            rig.admit(name);
        });
    });
    rig.drain_all();
    assert_eq!(rig.log_with_roots(), ["inside@R1", "loud@R2", "loud@R2"]);
}

#[test]
fn r65_ancestry_survives_buffering_splitting_and_polling() {
    let rig = Rig::new();
    let (sender, receiver) = channel::<Vec<&'static str>, _>(&rig.d, 16);
    rig.d
        .publication(|| sender.send(vec!["a1", "a2"]))
        .expect("room");
    rig.d
        .publication(|| sender.send(vec!["b1", "b2"]))
        .expect("room");
    sender.send(vec!["c1", "c2"]).expect("room");
    let mut buffer = StartupBuffer::new(16);
    while let Some(list) = receiver.try_recv() {
        for message in list.split() {
            buffer.take(message, Arriving::Order, |_| ()).expect("room");
        }
    }
    assert!(rig.d.has_pending());
    while let Some(message) = buffer.pop() {
        message.dispatch(|name| rig.admit(name));
    }
    rig.drain_all();
    let expected = ["a1@R1", "a2@R1", "b1@R2", "b2@R2", "c1@R3", "c2@R4"];
    assert_eq!(
        rig.log_with_roots(),
        expected,
        "a list without a root stays independent"
    );
    assert!(!rig.d.has_pending());
}

#[test]
fn r66_account_events_are_immediate_and_reports_precede_buffered_orders() {
    let rig = Rig::new();
    let (sender, receiver) = channel(&rig.d, 16);
    for (name, kind) in [
        ("order 1", Arriving::Order),
        ("report 1", Arriving::Report),
        ("account", Arriving::Account),
        ("order 2", Arriving::Order),
        ("report 2", Arriving::Report),
    ] {
        rig.d
            .publication(|| sender.send((name, kind)))
            .expect("room");
    }
    let mut buffer = StartupBuffer::new(4);
    while let Some(message) = receiver.try_recv() {
        let kind = message.value().1;
        buffer
            .take(message, kind, |(name, _)| rig.note(name))
            .expect("room");
    }
    assert_eq!(rig.log_with_roots(), ["account@R1"]);
    while let Some(message) = buffer.pop() {
        message.dispatch(|(name, _)| rig.note(name));
    }
    let expected = ["report 1@R1", "report 2@R2", "order 1@R3", "order 2@R4"];
    assert_eq!(rig.log_with_roots(), expected);
}

#[test]
fn r66_the_observer_precedes_each_command_children_too_under_its_context() {
    let rig = Rig::new();
    let commands = CommandQueue::new(&rig.d);
    rig.d.publication(|| commands.sender().send("1"));
    commands.drain_observed(
        |command| rig.note(&format!("observe {command}")),
        |command, children| {
            rig.note(command);
            if command == "1" {
                children.capture("child");
            }
        },
    );
    let expected = ["observe 1@R1", "1@R1", "observe child@R1", "child@R1"];
    assert_eq!(rig.log_with_roots(), expected);
}

#[test]
fn r67_a_spawned_thread_inherits_nothing() {
    let rig = Rig::new();
    let (sender, receiver) = channel::<u8, _>(&rig.d, 16);
    let mut kept = rig.d.retain::<()>(0).expect("room");
    kept.with_chain(|_| {
        let foreign = sender.foreign();
        thread::spawn(move || foreign.send(1).expect("room"))
            .join()
            .expect("no panic");
    });
    assert!(!receiver.try_recv().expect("sent").is_rooted());
}

#[test]
fn r68_a_drop_by_the_owner_restores_the_root() {
    let rig = Rig::new();
    let (sender, receiver) = channel(&rig.d, 16);
    for name in ["message", "left in the channel", "discarded"] {
        let noted = rig.clone();
        rig.d.publication(|| {
            let value = on_drop(move || noted.note(name));
            // An Rc never crosses a thread, and neither does this channel.
            sender.send(value).expect("room");
        });
    }
    drop(receiver.try_recv().expect("sent"));
    assert_eq!(rig.log_with_roots(), ["message@R1"]);
    drop(receiver);
    assert_eq!(
        rig.log_with_roots(),
        ["left in the channel@R1", "discarded@R2"]
    );
    assert!(!rig.d.has_pending());
}

#[test]
fn r68_foreign_releases_are_taken_in_by_captures_dispatches_and_clears() {
    let rig = Rig::new();
    let (sender, receiver) = channel::<u8, _>(&rig.d, 16);
    let free = rig.d.retained().1;
    let abandon = || {
        rig.d.publication(|| sender.send(1)).expect("room");
        let envelope = receiver.recv_envelope().expect("sent");
        thread::spawn(move || drop(envelope))
            .join()
            .expect("no panic");
        assert!(rig.d.retained().1 > free, "not yet");
    };
    abandon();
    sender.send(2).expect("room"); // A capture.
    assert_eq!(rig.d.retained().1, free);
    abandon_and_dispatch(&rig, &sender, &receiver, free);
    receiver.discard();
    abandon();
    assert_eq!(rig.d.clear(), Ok(()));
}

fn abandon_and_dispatch(
    rig: &Rig,
    sender: &pitlane::dispatch::EventSender<u8>,
    receiver: &pitlane::dispatch::EventReceiver<u8>,
    free: usize,
) {
    let waiting = receiver.recv_envelope().expect("the one that captured");
    rig.d.publication(|| sender.send(3)).expect("room");
    let envelope = receiver.recv_envelope().expect("sent");
    thread::spawn(move || drop(envelope))
        .join()
        .expect("no panic");
    assert!(rig.d.retained().1 > free, "not yet");
    waiting.dispatch(&rig.d, |_| assert_eq!(rig.d.retained().1, free));
}

#[test]
fn r68_the_end_of_the_owner_outlives_its_tokens() {
    let rig = Rig::new();
    let (sender, receiver) = channel::<u8, _>(&rig.d, 16);
    rig.d.publication(|| sender.send(1)).expect("room");
    let envelope = receiver.recv_envelope().expect("sent");
    drop((sender, receiver, rig));
    drop(envelope); // Nobody is there to be told.
}

#[test]
fn r72_transport_is_not_charged_and_a_full_channel_gives_the_message_back() {
    let rig = Rig::with_limits(Limits {
        units: 0,
        ..Limits::default()
    });
    let (sender, receiver) = channel::<[u8; 1_000], _>(&rig.d, 2);
    let root = rig.d.retain::<()>(0).expect("a root takes no unit");
    let before = rig.d.retained();
    let mut chain = root;
    chain.with_chain(|_| {
        sender.send([1; 1_000]).expect("room");
        sender.send([2; 1_000]).expect("room");
        assert_eq!(sender.send([3; 1_000]), Err(SendError::Full([3; 1_000])));
    });
    assert_eq!(rig.d.retained(), before);
    drop(chain);
    assert_eq!(
        rig.d.clear(),
        Err(DispatchError::Active),
        "the envelopes own the root"
    );
    drop(receiver);
    assert_eq!(sender.send([4; 1_000]), Err(SendError::Closed([4; 1_000])));
    assert_eq!(rig.d.clear(), Ok(()));
}
