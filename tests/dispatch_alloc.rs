//! In steady state nothing allocates: not a publication, an admission, a delivery,
//! a command, a message or a timer.

#[path = "support/counting_allocator.rs"]
mod counting_allocator;

use std::rc::Rc;

use counting_allocator::{CountingAllocator, counted};
use pitlane::dispatch::{
    CommandQueue, CommandSender, Component, Context, Dispatcher, HeapBytes, Timers, Topic, channel,
};
use pitlane::time::Nanos;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// An event as big as a report.
#[derive(Clone)]
struct Event {
    depth: u8,
    _body: [u64; 20],
}

impl HeapBytes for Event {
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Publishes on, and sends a command, for as long as the event says.
struct Forwarder {
    sender: CommandSender<u8>,
    seen: Rc<std::cell::Cell<u64>>,
}

impl Component<Event> for Forwarder {
    fn name(&self) -> &str {
        "forwarder"
    }

    fn maintain(&mut self, _: &Event, _: &Context<'_, Event>) {
        self.seen.set(self.seen.get() + 1);
    }

    fn on_event(&mut self, event: &Event, cx: &Context<'_, Event>) {
        if event.depth > 0 {
            cx.publish(
                Topic(1),
                &Event {
                    depth: event.depth - 1,
                    ..event.clone()
                },
            );
            self.sender.send(event.depth);
        }
    }
}

#[test]
fn r31_no_allocation_per_callback_command_message_or_timer() {
    let d = Dispatcher::new();
    let commands = CommandQueue::new(&d);
    let seen = Rc::new(std::cell::Cell::new(0));
    for _ in 0..3 {
        let forwarder = Forwarder {
            sender: commands.sender(),
            seen: Rc::clone(&seen),
        };
        let id = d.register(Box::new(forwarder)).expect("room");
        d.start(id).expect("registered");
        for topic in [Topic(0), Topic(1)] {
            d.subscribe(topic, id).expect("in range");
        }
    }
    let (sender, receiver) = channel(&d, 64);
    let mut timers = Timers::new();
    let event = Event {
        depth: 3,
        _body: [7; 20],
    };
    let mut turn = |now: u64| {
        timers.register(Nanos(now), ()).expect("room");
        timers
            .pop_due(Nanos(now))
            .expect("due")
            .deliver(&d, Some, |(), _| {
                d.publish(Topic(0), &event);
                sender.send(now).expect("room");
            });
        while let Some(message) = receiver.try_recv() {
            message.dispatch(|_| d.publish(Topic(0), &event));
        }
        loop {
            let pending = d.boundary(64).expect("nothing is wrong");
            let ran = commands.drain(|command, children| {
                if command == 3 {
                    children.capture(0);
                }
            });
            if !pending && ran == 0 {
                break;
            }
        }
    };
    for now in 0..10 {
        turn(now);
    }
    seen.set(0);
    let ((), counts) = counted(|| {
        for now in 10..1_010 {
            turn(now);
        }
    });
    // Three components, each event published on by each: 3 + 9 + 27 + 81, twice a turn.
    assert_eq!(seen.get(), 1_000 * 2 * 120);
    // The channel is a third party's: what it allocates is per 31 rooted messages that
    // were released by another thread, and here there are none.
    assert_eq!(counts.allocations, 0);
}
