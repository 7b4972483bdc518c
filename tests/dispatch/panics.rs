//! Panics: in author code, in destructors, in publications, and while another
//! panic unwinds (R39, R42, R43, R44).

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use pitlane::dispatch::{
    Component, ComponentId, Context, DispatchError, Dispatcher, Fatal, Lifecycle, LifecycleError,
};

use crate::rig::{Event, Recorder, Rig, on_drop};

fn unwinds(body: impl FnOnce()) {
    assert!(
        catch_unwind(AssertUnwindSafe(body)).is_err(),
        "it should panic"
    );
}

#[test]
fn f24_a_panic_in_author_code_disables_the_component_and_the_rest_goes_on_in_order() {
    let rig = Rig::new();
    let bad = rig.add(Recorder {
        maintains: true,
        ..Recorder::new(&rig, "bad:")
    });
    rig.on("boom", |_| panic!("the strategy's own fault"));
    rig.d.publication(|| {
        rig.admit("a");
        rig.d.admit(bad, || Event::new("boom")).expect("room");
        rig.d.admit(bad, || Event::new("never")).expect("room");
        rig.admit("b");
    });
    let kept = rig.d.retain::<()>(0).expect("room");
    rig.drain_all();
    assert_eq!(rig.log(), ["a", "bad:maintain(boom)", "bad:boom", "b"]);
    assert_eq!(rig.d.failure(), None, "contained");
    assert_eq!(rig.d.lifecycle(bad), Some(Lifecycle::Disabled));
    assert_eq!(rig.d.start(bad), Err(LifecycleError::Disabled(bad)));
    let alarm = rig.d.take_alarm().expect("a person must hear of it");
    assert_eq!((alarm.component, &*alarm.name), (bad, "bad:"));
    assert_eq!(alarm.message, "the strategy's own fault");
    assert_eq!(rig.d.take_alarm(), None);
    drop(kept);
    // Replaced, it works again.
    rig.d.retire(bad).expect("registered");
    let good = rig.add(Recorder::new(&rig, "good:"));
    rig.d.admit(good, || Event::new("again")).expect("room");
    rig.drain_all();
    assert_eq!(rig.log(), ["good:again"]);
}

#[test]
fn f24_panics_in_maintenance_hooks_and_retired_components_are_contained_too() {
    let rig = Rig::new();
    let first = rig.add(Recorder {
        maintains: true,
        ..Recorder::new(&rig, "")
    });
    rig.on("maintain(a)", |_| {
        panic!("{}", String::from("in maintenance"))
    });
    rig.d.admit(first, || Event::new("a")).expect("room");
    rig.drain_all();
    assert_eq!(rig.d.lifecycle(first), Some(Lifecycle::Disabled));
    assert_eq!(
        rig.d.take_alarm().expect("alarmed").message,
        "in maintenance"
    );

    let second = rig.add(Recorder::new(&rig, "second:"));
    rig.on("second:stop", |_| std::panic::panic_any(17));
    assert_eq!(rig.d.stop(second), Err(LifecycleError::Panicked(second)));
    assert_eq!(
        rig.d.take_alarm().expect("alarmed").message,
        "a panic without a text"
    );

    struct Bomb(Rig);
    impl Component<Event> for Bomb {
        fn name(&self) -> &str {
            "bomb"
        }
        fn on_event(&mut self, _: &Event, cx: &Context<'_, Event>) {
            self.0.d.retire(cx.component()).expect("registered");
        }
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped after it was retired");
        }
    }
    let bomb = rig.add(Bomb(rig.clone()));
    rig.d.admit(bomb, || Event::new("a")).expect("room");
    rig.admit("goes on");
    rig.drain_all();
    assert_eq!(
        rig.d.take_alarm().expect("alarmed").message,
        "dropped after it was retired"
    );
    assert_eq!(rig.log(), ["maintain(a)", "goes on"]);
}

/// What was heard, under which root.
type Heard = Rc<RefCell<Vec<(u64, Option<u64>)>>>;

#[test]
fn f24_a_component_that_was_retired_while_it_ran_drops_under_the_root_of_a_plain_event() {
    struct Leaver {
        d: Rc<Dispatcher<u64>>,
        heard: Heard,
        other: ComponentId,
    }
    impl Component<u64> for Leaver {
        fn name(&self) -> &str {
            "leaver"
        }
        fn on_event(&mut self, event: &u64, cx: &Context<'_, u64>) {
            self.heard.borrow_mut().push((*event, self.d.active_root()));
            self.d.retire(cx.component()).expect("registered");
        }
    }
    impl Drop for Leaver {
        fn drop(&mut self) {
            self.d.admit(self.other, || 2).expect("room");
            panic!("dropped after it was retired");
        }
    }
    struct Heir(Heard, Rc<Dispatcher<u64>>);
    impl Component<u64> for Heir {
        fn name(&self) -> &str {
            "heir"
        }
        fn on_event(&mut self, event: &u64, _: &Context<'_, u64>) {
            self.0.borrow_mut().push((*event, self.1.active_root()));
        }
    }
    let d = Rc::new(Dispatcher::new());
    let heard = Heard::default();
    let heir = Heir(Rc::clone(&heard), Rc::clone(&d));
    let other = d.register(Box::new(heir)).expect("room");
    d.start(other).expect("registered");
    let leaver = Leaver {
        d: Rc::clone(&d),
        heard: Rc::clone(&heard),
        other,
    };
    let leaver = d.register(Box::new(leaver)).expect("room");
    d.start(leaver).expect("registered");
    let free = d.retained();
    d.admit(leaver, || 1).expect("room");
    assert_eq!(d.boundary(8), Ok(false));
    let heard = heard.borrow();
    assert_eq!([heard[0].0, heard[1].0], [1, 2]);
    assert_eq!(heard[0].1, heard[1].1, "the same root");
    assert_eq!(d.retained(), free);
    let alarm = d.take_alarm().expect("alarmed");
    assert_eq!(alarm.message, "dropped after it was retired");
    d.retire(other).expect("registered");
}

#[test]
fn f24_a_contained_panic_is_charged_and_its_capture_drops_under_the_root() {
    let rig = Rig::new();
    rig.on("boom", |_| panic!("contained"));
    let root = Rc::new(Cell::new(None));
    let kept = rig.d.publication(|| {
        let (seen, there) = (Rc::clone(&root), rig.clone());
        let capture = Event::dropping("boom", move || seen.set(there.d.active_root()));
        rig.d.admit(rig.first, || capture).expect("room");
        rig.d.retain::<()>(0).expect("room")
    });
    rig.drain_all();
    assert_eq!(kept.deliveries(), 1);
    assert!(root.get().is_some());
    assert_eq!(root.get(), kept.root());
}

#[test]
fn r39_a02_a_delivered_capture_drops_with_its_root_active_before_the_charge() {
    let rig = Rig::new();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::new(RefCell::new(None));
    rig.d.publication(|| {
        let (seen, there, root) = (Rc::clone(&seen), rig.clone(), Rc::clone(&kept));
        let capture = Event::dropping("a", move || {
            // The component is back in its place, and what is admitted here inherits.
            there.d.with(there.first, |_: &mut Recorder| ());
            there.admit("from the destructor");
            let chain: &Option<pitlane::dispatch::Retained<()>> = &root.borrow();
            let deliveries = chain.as_ref().expect("kept below").deliveries();
            seen.borrow_mut().push((there.d.active_root(), deliveries));
        });
        rig.d.admit(rig.first, || capture).expect("room");
        *kept.borrow_mut() = Some(rig.d.retain::<()>(0).expect("room"));
    });
    rig.drain_all();
    let root = kept.borrow().as_ref().expect("kept").root();
    assert_eq!(
        *seen.borrow(),
        [(root, 0)],
        "charged after its destructor (A2)"
    );
    assert_eq!(rig.log_with_roots(), ["a@R1", "from the destructor@R1"]);
}

#[test]
fn r43_a03_a_panic_in_a_captures_destructor_leaves_the_delivery_and_latches() {
    let rig = Rig::new();
    let kept = rig.d.publication(|| {
        let capture = Event::dropping("a", || panic!("in a destructor"));
        rig.d.admit(rig.first, || capture).expect("room");
        rig.admit("b");
        rig.d.retain::<()>(0).expect("room")
    });
    unwinds(|| assert_eq!(rig.d.boundary(64), Ok(false)));
    assert_eq!(rig.d.boundary(64), Err(Fatal::DeliveryUnwound.into()));
    assert_eq!(rig.log(), ["a"]);
    assert_eq!(rig.d.queued(), 2, "the emptied slot stays (A3)");
    assert_eq!(
        kept.deliveries(),
        0,
        "an unwound delivery is not charged (A3)"
    );
    assert_eq!(rig.d.active_root(), None, "restored");
    drop(kept);
    assert_eq!(rig.d.clear(), Ok(()));
    rig.admit("c");
    rig.drain_all();
    assert_eq!(rig.log(), ["c"], "the component is in its place");
}

#[test]
fn t13_r42_a_panic_that_leaves_a_publication_latches_even_if_caught() {
    let rig = Rig::new();
    unwinds(|| {
        rig.d.publication(|| {
            rig.admit("a");
            panic!("in a publication");
        });
    });
    assert_eq!(rig.d.boundary(64), Err(Fatal::PublicationUnwound.into()));
    assert_eq!(rig.d.queued(), 1);
    assert_eq!(rig.d.clear(), Ok(()));
    assert_eq!(rig.d.boundary(64), Ok(false));
    // With an empty queue too, and through the publish path.
    rig.d.with_routes(|routes| {
        routes.set_tap(Some(Rc::new(|_, _, _: &Event| panic!("in the tap"))));
    });
    unwinds(|| rig.d.publish(pitlane::dispatch::Topic(0), &Event::new("a")));
    assert_eq!(rig.d.boundary(64), Err(Fatal::PublicationUnwound.into()));
    assert_eq!(rig.log(), [""; 0]);
}

#[test]
fn r42_a_publication_that_a_contained_panic_leaves_still_latches() {
    let rig = Rig::new();
    rig.on("a", |rig| {
        rig.d
            .publication(|| panic!("in a publication of a callback"));
    });
    rig.publish(&["a", "b"]);
    assert_eq!(rig.d.boundary(64), Err(Fatal::PublicationUnwound.into()));
    assert_eq!(rig.log(), ["a"]);
    assert!(rig.d.take_alarm().is_some());
}

#[test]
fn r42_a_publication_that_ends_well_during_another_panic_does_not_latch() {
    let rig = Rig::new();
    let there = rig.clone();
    unwinds(|| {
        let _guard = on_drop(move || there.publish(&["during"]));
        panic!("elsewhere");
    });
    assert_eq!(rig.d.failure(), None);
    rig.drain_all();
    assert_eq!(rig.log(), ["during"]);
}

#[test]
fn t14_r43_a_drain_during_a_panic_succeeds_and_latches_even_when_empty() {
    let rig = Rig::new();
    let result = Rc::new(Cell::new(None));
    let (there, seen) = (rig.clone(), Rc::clone(&result));
    unwinds(|| {
        let _guard = on_drop(move || seen.set(Some(there.d.boundary(64))));
        panic!("elsewhere");
    });
    assert_eq!(result.get(), Some(Ok(false)));
    assert_eq!(rig.d.boundary(64), Err(Fatal::DeliveryUnwound.into()));
}

#[test]
fn r43_callbacks_run_and_panics_are_contained_while_another_panic_unwinds() {
    let rig = Rig::new();
    rig.on("a", |_| panic!("inside of a destructor's drain"));
    rig.publish(&["a"]);
    let other = rig.add(Recorder::new(&rig, ""));
    rig.d.admit(other, || Event::new("b")).expect("room");
    let result = Rc::new(Cell::new(None));
    let (there, seen) = (rig.clone(), Rc::clone(&result));
    unwinds(|| {
        let _guard = on_drop(move || seen.set(Some(there.d.boundary(64))));
        panic!("elsewhere");
    });
    assert_eq!(result.get(), Some(Ok(false)));
    assert_eq!(rig.log(), ["a", "b"]);
    assert_eq!(rig.d.failure(), Some(Fatal::DeliveryUnwound));
}

#[test]
fn r44_one_destructor_that_panics_does_not_keep_the_others_from_running() {
    let rig = Rig::new();
    let dropped = Rc::new(Cell::new(0));
    for name in ["a", "b", "c"] {
        let dropped = Rc::clone(&dropped);
        let capture = Event::dropping(name, move || {
            dropped.set(dropped.get() + 1);
            assert_ne!(dropped.get(), 1, "the first one panics");
        });
        rig.d.admit(rig.first, || capture).expect("room");
    }
    unwinds(|| assert_eq!(rig.d.clear(), Ok(())));
    assert_eq!(dropped.get(), 3);
    assert_eq!(
        (rig.d.queued(), rig.d.retained()),
        (0, (0, 0)),
        "roots and slots are released"
    );
    assert_eq!(rig.d.clear(), Ok(()));
    rig.admit("d");
    rig.drain_all();
    assert_eq!(rig.log(), ["d"]);
}

#[test]
fn r20_a_drain_during_a_callbacks_panic_is_refused() {
    let rig = Rig::new();
    let result = Rc::new(Cell::new(None));
    let seen = Rc::clone(&result);
    rig.on("a", move |rig| {
        let (there, seen) = (rig.clone(), Rc::clone(&seen));
        let _guard = on_drop(move || seen.set(Some(there.d.boundary(64))));
        panic!("with a drain in its way out");
    });
    rig.publish(&["a"]);
    rig.drain_all();
    assert_eq!(result.get(), Some(Err(DispatchError::Active)));
    assert_eq!(rig.d.failure(), None);
}
