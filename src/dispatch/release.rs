//! How another thread lets go of a root: it leaves the root's number, and the
//! owner takes it in later (rule R68).
//!
//! Counts of roots are never touched by a thread that does not own them; the
//! queue's storage is outside of the storage limits (rule R72), and holds at most
//! one entry per rooted envelope.

use crossbeam_channel::{Receiver, Sender, unbounded};

/// The owner's side.
#[derive(Debug)]
pub(super) struct Releases {
    sender: Sender<u32>,
    receiver: Receiver<u32>,
}

impl Releases {
    pub(super) fn new() -> Self {
        let (sender, receiver) = unbounded();
        Self { sender, receiver }
    }

    /// Everything that was let go since the last call.
    pub(super) fn each(&self, mut release: impl FnMut(u32)) {
        while let Ok(root) = self.receiver.try_recv() {
            release(root);
        }
    }
}

/// An ownership of a root that may cross threads. It says nothing about the root
/// but whose it is; dropping it, anywhere, lets go of the root.
#[derive(Debug)]
pub(super) struct Token {
    root: u32,
    sender: Option<Sender<u32>>,
}

impl Token {
    /// For an ownership that the caller gives away.
    pub(super) fn new(releases: &Releases, root: u32) -> Self {
        Self {
            root,
            sender: Some(releases.sender.clone()),
        }
    }

    pub(super) fn is_of(&self, releases: &Releases) -> bool {
        self.sender
            .as_ref()
            .is_some_and(|sender| sender.same_channel(&releases.sender))
    }

    /// The ownership, taken out: nothing is let go.
    pub(super) fn take(mut self) -> u32 {
        self.sender = None;
        self.root
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            // The owner is gone when this fails, and the root with it.
            let _ = sender.send(self.root);
        }
    }
}
