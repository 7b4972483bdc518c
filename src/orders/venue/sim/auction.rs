//! The one price of an auction: what it is, and how it is found.
//!
//! Walks the crossed part of the book and allocates: an auction is an event of
//! the day, not of the order path.

use core::cmp::Reverse;

use super::book::{Book, level_queue};
use super::order_slab::OrderSlab;
use crate::types::{Amount, Price, Quantity, Side};

/// An auction that was held, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auction {
    /// The price at which all of it trades.
    pub price: Price,
    /// How much of the base asset changes hands.
    pub traded: Amount,
    /// What could trade at the price but finds no other side: positive where
    /// buyers are left, negative where sellers are.
    pub surplus: Amount,
}

/// What the crossed orders of a book would do at each price.
struct Crossed {
    /// Raw price and quantity of each level, lowest price first.
    bids: Vec<(i64, i128)>,
    asks: Vec<(i64, i128)>,
}

impl Crossed {
    /// `None` where the book is not crossed.
    fn of(book: &Book, orders: &OrderSlab) -> Option<Self> {
        let (best_bid, best_ask) = book.crossed()?;
        let level = |(price, head): (i64, u32)| {
            let leaves = |slot| i128::from(orders.get(slot).leaves);
            (price, level_queue(head, orders).map(leaves).sum::<i128>())
        };
        let mut bids: Vec<_> = book
            .side(Side::Buy)
            .levels()
            .take_while(|(price, _)| *price >= best_ask)
            .map(level)
            .collect();
        bids.reverse();
        let asks = book
            .side(Side::Sell)
            .levels()
            .take_while(|(price, _)| *price <= best_bid)
            .map(level)
            .collect();
        Some(Self { bids, asks })
    }

    /// Every auction at one of `prices`, which ascend.
    fn auctions(&self, prices: &[i64]) -> Vec<Auction> {
        let mut willing: i128 = self.bids.iter().map(|(_, quantity)| quantity).sum();
        let mut offered = 0;
        let mut bids = self.bids.iter().peekable();
        let mut asks = self.asks.iter().peekable();
        prices
            .iter()
            .map(|&price| {
                while let Some((_, quantity)) = bids.next_if(|(bid, _)| *bid < price) {
                    willing -= quantity;
                }
                while let Some((_, quantity)) = asks.next_if(|(ask, _)| *ask <= price) {
                    offered += quantity;
                }
                Auction {
                    price: Price::from_raw(price),
                    traded: base_amount(willing.min(offered)),
                    surplus: base_amount(willing - offered),
                }
            })
            .collect()
    }
}

/// The auction that the book itself asks for: most traded, then least left
/// over, then nearest to the reference, then lowest. `None` if nothing crosses.
pub(super) fn best_auction(book: &Book, orders: &OrderSlab) -> Option<Auction> {
    let crossed = Crossed::of(book, orders)?;
    let (best_bid, best_ask) = book.crossed()?;
    let reference = book
        .last
        .filter(|price| (best_ask..=best_bid).contains(price));
    let mut prices: Vec<i64> = crossed
        .bids
        .iter()
        .chain(&crossed.asks)
        .map(|(price, _)| *price)
        .chain(reference)
        .collect();
    prices.sort_unstable();
    prices.dedup();
    crossed.auctions(&prices).into_iter().max_by_key(|auction| {
        let distance = book
            .last
            .map_or(0, |reference| reference.abs_diff(auction.price.raw()));
        (
            auction.traded,
            Reverse(auction.surplus.raw().unsigned_abs()),
            Reverse(distance),
            Reverse(auction.price),
        )
    })
}

/// The auction at a given price; `None` if the book is not crossed.
pub(super) fn auction_at(book: &Book, orders: &OrderSlab, price: i64) -> Option<Auction> {
    Crossed::of(book, orders)?.auctions(&[price]).pop()
}

/// A sum of quantities as an amount: at most 2^24 orders of 2^63, times 2^30.
const fn base_amount(raw: i128) -> Amount {
    Amount::from_raw(raw * Quantity::from_raw(1).amount().raw())
}
