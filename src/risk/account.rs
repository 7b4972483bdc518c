//! What the engine knows of an account: one cache line (rule K27, target P16).

use super::table::Record;
use super::window::Window;
use crate::types::RejectCode;

pub(crate) const NONE: u32 = u32::MAX;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub(crate) struct Account {
    pub(crate) id: u64,
    /// The group's number; zero is none.
    pub(crate) group: u32,
    /// Which resolved settings are its own, valid for `settings_version`.
    pub(crate) profile: u32,
    pub(crate) settings_version: u32,
    /// Reservations and working orders.
    pub(crate) open_orders: u32,
    /// Oldest and newest entry of its order list.
    pub(crate) first_order: u32,
    pub(crate) last_order: u32,
    pub(crate) orders: Window,
    /// The cause, while blocked.
    pub(crate) block: Option<RejectCode>,
    /// The configuration names it, so it cannot retire.
    pub(crate) configured: bool,
}

const _: () = assert!(size_of::<Account>() == 64, "one cache line");

impl Account {
    pub(crate) const fn new(id: u64, group: u32, configured: bool) -> Self {
        Self {
            id,
            group,
            profile: 0,
            settings_version: 0,
            open_orders: 0,
            first_order: NONE,
            last_order: NONE,
            orders: Window::EMPTY,
            block: None,
            configured,
        }
    }
}

impl Record for Account {
    type Key = u64;

    fn key(&self) -> u64 {
        self.id
    }
}
