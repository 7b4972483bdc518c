//! The `pitlane` command.

fn main() {}
