//! Commands: batches, children, roots and panics (R52 to R61).

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use pitlane::dispatch::{CommandQueue, DispatchError, Fatal, Limits};

use crate::rig::{OnDrop, Rig, on_drop};

#[test]
fn r52_a_send_takes_the_active_root_or_the_scopes_or_none() {
    let rig = Rig::new();
    let commands = CommandQueue::new(&rig.d);
    let sender = commands.sender();
    sender.send("outside");
    rig.d.publication(|| sender.send("in a publication"));
    let mut kept = rig.d.retain::<()>(0).expect("room");
    kept.with_chain(|_| sender.send("in a chain"));
    let root = kept.root();
    drop(kept);
    let mut seen = Vec::new();
    commands.drain(|command, _| seen.push((command, rig.d.active_root())));
    assert_eq!(seen[0], ("outside", None));
    assert!(seen[1].1.is_some() && seen[1].1 != root);
    assert_eq!(seen[2], ("in a chain", root));
    assert!(!rig.d.has_pending(), "all roots are released");
}

#[test]
fn r53_rootless_batch_mates_never_share_a_root() {
    let rig = Rig::new();
    let commands = CommandQueue::new(&rig.d);
    for command in ["1", "2"] {
        commands.sender().send(command);
    }
    commands.drain(|command, _| {
        rig.admit(&format!("{command}a"));
        if command == "1" {
            commands.sender().send("nested of 1");
        }
        rig.admit(&format!("{command}b"));
    });
    commands.drain(|command, _| rig.note(command));
    rig.drain_all();
    let log = rig.log_with_roots();
    assert_eq!(log, ["nested of 1@R1", "1a@R1", "1b@R1", "2a@R2", "2b@R2"]);
}

#[test]
fn t15_r54_r55_children_run_depth_first_each_under_its_own_root() {
    let rig = Rig::new();
    let commands = CommandQueue::new(&rig.d);
    let mut other = rig.d.retain::<()>(0).expect("room");
    commands.sender().send(1);
    commands.sender().send(2);
    let mut handler = |command: u32, children: &mut pitlane::dispatch::Children<'_, u32>| {
        match command {
            1 => {
                children.capture(3);
                other.with_chain(|_| children.capture(4));
                children.capture(5);
                commands.sender().send(7);
            }
            3 => children.capture(6),
            2 => rig.admit("2 admits"),
            _ => {}
        }
        rig.note(&command.to_string());
    };
    assert_eq!(commands.drain(&mut handler), 6);
    assert_eq!(commands.drain(&mut handler), 1);
    let log = rig.log_with_roots();
    assert_eq!(
        log,
        ["1@R1", "3@R1", "6@R1", "4@R2", "5@R1", "2@R3", "7@R1"]
    );
}

#[test]
fn t16_r58_a_panic_drops_children_and_batch_under_their_roots_and_keeps_new_sends() {
    let rig = Rig::new();
    let commands: CommandQueue<(&'static str, Option<Rc<OnDrop>>)> = CommandQueue::new(&rig.d);
    let logged = |name: &'static str| {
        let there = rig.clone();
        Some(on_drop(move || there.note(&format!("drop {name}"))))
    };
    let mut first = rig.d.retain::<()>(0).expect("room");
    let mut second = rig.d.retain::<()>(0).expect("room");
    first.with_chain(|_| commands.sender().send(("1", None)));
    second.with_chain(|_| commands.sender().send(("2", logged("2"))));
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        commands.drain(|(name, _), children| {
            rig.note(name);
            children.capture(("k", logged("k")));
            commands.sender().send(("n", None));
            panic!("in a handler");
        })
    }));
    assert!(unwound.is_err());
    assert_eq!(rig.log_with_roots(), ["1@R1", "drop k@R1", "drop 2@R2"]);
    assert_eq!(rig.d.active_root(), None);
    drop((first, second));
    assert_eq!(commands.len(), 1);
    assert_eq!(rig.d.clear(), Err(DispatchError::Active), "n has a root");
    commands.drain(|(name, _), _| rig.note(name));
    assert_eq!(rig.log(), ["n"]);
    assert_eq!(rig.d.clear(), Ok(()));
}

#[test]
fn t17_a_recursive_drain_takes_what_was_sent_and_leaves_the_outer_batch() {
    let rig = Rig::new();
    let commands = CommandQueue::new(&rig.d);
    commands.sender().send(1);
    commands.sender().send(2);
    commands.drain(|command, _| {
        rig.note(&command.to_string());
        if command == 1 {
            commands.sender().send(3);
            commands.drain(|command, _| rig.note(&command.to_string()));
            rig.note("1 resumes");
        }
    });
    assert_eq!(rig.log(), ["1", "3", "1 resumes", "2"]);
}

#[test]
fn r56_no_borrow_spans_a_handler_or_the_drop_of_an_abandoned_command() {
    let rig = Rig::new();
    let commands: Rc<CommandQueue<Rc<OnDrop>>> = Rc::new(CommandQueue::new(&rig.d));
    let there = Rc::clone(&commands);
    let (sender, noted) = (commands.sender(), rig.clone());
    commands.sender().send(on_drop(move || {
        // From its destructor: look, send, and drain the queue that it came from.
        assert_eq!(there.len(), 0);
        let inner = noted.clone();
        sender.send(on_drop(move || inner.note("inner")));
        assert_eq!(there.drain(|command, _| drop(command)), 1);
        noted.note("outer");
    }));
    commands.discard();
    assert_eq!(rig.log(), ["inner", "outer"]);
}

#[test]
fn r57_commands_charge_nothing_drain_nothing_and_restore_the_root() {
    let rig = Rig::new();
    let commands = CommandQueue::new(&rig.d);
    let mut kept = rig.d.retain::<()>(0).expect("room");
    let mut outer = rig.d.retain::<()>(0).expect("room");
    kept.with_chain(|_| {
        commands.sender().send("a");
        commands.sender().send("b");
    });
    let active = outer.root();
    outer.with_chain(|_| {
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            commands.drain(|command, _| {
                rig.admit(command);
                assert_eq!(rig.d.active_root(), kept.root());
                assert_ne!(command, "b", "the second one panics");
            })
        }));
        assert!(unwound.is_err());
        assert_eq!(rig.d.active_root(), active);
    });
    assert_eq!(kept.deliveries(), 0);
    assert_eq!(
        (rig.log(), rig.d.queued()),
        (vec![], 2),
        "nothing was delivered"
    );
}

#[test]
fn r59_limits_never_refuse_a_send_and_a_root_without_room_latches() {
    let rig = Rig::with_limits(Limits {
        units: 0,
        bytes: 0,
        deliveries: 1,
    });
    let commands = CommandQueue::new(&rig.d);
    for command in 0..1_000 {
        commands.sender().send(command);
    }
    assert_eq!(
        (rig.d.failure(), rig.d.retained()),
        (None, (0, 0)),
        "commands are not charged"
    );
    rig.d.publication(|| commands.sender().send(1_000));
    assert_eq!(rig.d.failure(), Some(Fatal::Overflow));
    assert_eq!(commands.len(), 1_001, "queued all the same");
}

#[test]
fn r59_the_queues_own_fuse_keeps_the_command_and_latches() {
    let rig = Rig::new();
    let commands = CommandQueue::new(&rig.d);
    let sender = commands.sender();
    for _ in 0..1 << 20 {
        sender.send(());
    }
    assert_eq!(rig.d.failure(), None);
    sender.send(());
    assert_eq!(rig.d.failure(), Some(Fatal::Overflow));
    assert_eq!(commands.len(), (1 << 20) + 1);
}

#[test]
fn r60_queued_roots_block_a_clear_and_the_end_of_the_queue_releases_them() {
    let rig = Rig::new();
    let noted = rig.clone();
    let commands = CommandQueue::new(&rig.d);
    let sender = commands.sender();
    rig.d
        .publication(|| sender.send(on_drop(move || noted.note("dropped"))));
    assert_eq!(rig.d.clear(), Err(DispatchError::Active));
    drop(commands);
    assert_eq!(rig.log_with_roots(), ["dropped@R1"]);
    assert_eq!(rig.d.clear(), Ok(()));
}

#[test]
fn r60_the_end_of_the_thread_releases_queued_commands() {
    let (dropped, seen) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let rig = Rig::new();
        let commands = CommandQueue::new(&rig.d);
        rig.d.publication(|| {
            commands
                .sender()
                .send(on_drop(move || dropped.send(()).expect("the test waits")));
        });
    });
    thread.join().expect("it does not panic");
    assert_eq!(seen.recv(), Ok(()));
}

#[test]
fn r61_a_direct_command_runs_at_once_where_it_is_and_carries_no_context() {
    let rig = Rig::new();
    let commands = CommandQueue::new(&rig.d);
    let mut kept = rig.d.retain::<()>(0).expect("room");
    let root = kept.root();
    let order = RefCell::new(Vec::new());
    kept.with_chain(|_| {
        commands.direct("d", |command, children| {
            order.borrow_mut().push((command, rig.d.active_root()));
            if command == "d" {
                children.capture("child");
            }
        });
        order.borrow_mut().push(("after", rig.d.active_root()));
    });
    assert_eq!(
        *order.borrow(),
        [("d", root), ("child", root), ("after", root)]
    );
    // The command itself is plain data: on another thread it knows nothing of this root.
    let elsewhere = std::thread::spawn(|| {
        let rig = Rig::new();
        CommandQueue::new(&rig.d).direct("d", |_, _| assert_eq!(rig.d.active_root(), None));
    });
    elsewhere.join().expect("it does not panic");
}
