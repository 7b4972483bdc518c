//! Panics that a test plants, kept out of its output; every other one is shown.

use std::panic::PanicHookInfo;
use std::sync::Once;

/// What planted panics say. An assertion that fails says something else.
const PLANTED: [&str; 5] = [
    "a planted panic",
    "a planted fault in shard 0's worker",
    "a command that panics",
    "an observer that panics",
    "work that panics",
];

/// From now on planted panics print nothing.
pub(crate) fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !is_planted(info) {
                shown(info);
            }
        }));
    });
}

fn is_planted(info: &PanicHookInfo<'_>) -> bool {
    info.payload_as_str()
        .is_some_and(|message| PLANTED.contains(&message))
}
