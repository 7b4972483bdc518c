//! `pitlane mcp`: an agent's orders as tools of the Model Context Protocol, over
//! stdio (rule O34). It is a client of the HTTP routes, with an agent's token.

mod serve;
mod server;
mod tools;

pub(super) use serve::run;
