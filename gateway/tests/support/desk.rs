//! A session by hand: no sockets, no clocks.

use std::sync::Arc;
use std::time::Duration;

use pitlane::time::{Nanos, UnixNanos};
use pitlane::types::{Command, Origin};
use pitlane_gateway::client::ClientKey;
use pitlane_gateway::session::{
    At, Counts, Credential, Credentials, Full, Outbound, Rules, Session, Timing, signed_bytes,
};
use pitlane_gateway::wire::{
    Block, Challenge, Establish, FromGateway, Negotiate, Next, next_frame, write_frame,
};

pub(crate) const WALL: u64 = 1_800_000_000_000_000_000;
pub(crate) const KEEP_ALIVE_MS: u32 = 1_000;

pub(crate) fn rules(list: &[Credential]) -> Arc<Rules> {
    Arc::new(Rules {
        gateway_id: super::GATEWAY,
        credentials: Arc::new(Credentials::new(list).unwrap()),
        timing: Timing::default(),
    })
}

pub(crate) struct Desk {
    pub(crate) session: Session,
    pub(crate) out: Outbound,
    pub(crate) counts: Counts,
    pub(crate) at: At,
    pub(crate) commands: Vec<Command>,
    /// Whether the core refuses commands.
    pub(crate) is_full: bool,
    /// What has come and was not used.
    held: Vec<u8>,
}

impl Desk {
    pub(crate) fn open(rules: &Arc<Rules>) -> Self {
        Self::open_with(rules, [5; 32], 1 << 20)
    }

    pub(crate) fn open_with(rules: &Arc<Rules>, nonce: [u8; 32], limit: usize) -> Self {
        let at = At {
            now: Nanos(1_000),
            wall: UnixNanos(WALL),
        };
        let mut out = Outbound::new(limit);
        let session = Session::open(Arc::clone(rules), Origin::default(), nonce, at, &mut out);
        Self {
            session,
            out,
            counts: Counts::default(),
            at,
            commands: Vec::new(),
            is_full: false,
            held: Vec::new(),
        }
    }

    /// Opened and logged on as credential `id`, whose key is `key`.
    pub(crate) fn established(rules: &Arc<Rules>, id: u16, key: &ClientKey) -> Self {
        let mut desk = Self::open(rules);
        desk.log_on(id, key);
        assert!(desk.session.established().is_some());
        desk
    }

    pub(crate) fn log_on(&mut self, id: u16, key: &ClientKey) {
        let challenge = self.challenge();
        let negotiate = negotiate(&challenge, u64::from(id), key, WALL);
        assert!(matches!(
            self.answers(&negotiate)[..],
            [FromGateway::NegotiationResponse(_)]
        ));
        assert!(matches!(
            self.answers(&establish())[..],
            [FromGateway::EstablishmentAck(_)]
        ));
    }

    pub(crate) fn challenge(&mut self) -> Challenge {
        match self.taken()[..] {
            [FromGateway::Challenge(challenge)] => challenge,
            ref other => panic!("{other:?}"),
        }
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.at.now = self.at.now.after(time);
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        let (commands, is_full) = (&mut self.commands, self.is_full);
        let done = self.session.receive(
            &self.held,
            self.at,
            &mut self.out,
            &mut self.counts,
            |command| {
                if is_full {
                    return Err(Full);
                }
                commands.push(*command);
                Ok(())
            },
        );
        self.held.drain(..done);
    }

    pub(crate) fn tick(&mut self) -> Vec<FromGateway> {
        self.session.tick(self.at.now, &mut self.out);
        self.taken()
    }

    /// What a message is answered with.
    pub(crate) fn answers<B: Block>(&mut self, block: &B) -> Vec<FromGateway> {
        self.receive(&frame(block));
        self.taken()
    }

    /// The bytes that wait for the client.
    pub(crate) fn taken_bytes(&mut self) -> Vec<u8> {
        let bytes = self.out.take(Vec::new());
        self.out.written();
        bytes
    }

    pub(crate) fn taken(&mut self) -> Vec<FromGateway> {
        messages(&self.taken_bytes())
    }
}

pub(crate) fn messages(mut bytes: &[u8]) -> Vec<FromGateway> {
    let mut messages = Vec::new();
    while let Next::Frame(frame) = next_frame(bytes).unwrap() {
        messages.push(FromGateway::decode(&frame).unwrap());
        bytes = &bytes[frame.length..];
    }
    assert!(bytes.is_empty());
    messages
}

pub(crate) fn frame<B: Block>(block: &B) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, block);
    bytes
}

pub(crate) fn establish() -> Establish {
    Establish {
        session_id: 1,
        next_seq_num: 1,
        keep_alive_ms: KEEP_ALIVE_MS,
        pad1: 0,
    }
}

pub(crate) fn negotiate(
    challenge: &Challenge,
    credential_id: u64,
    key: &ClientKey,
    time: u64,
) -> Negotiate {
    let mut negotiate = Negotiate {
        session_id: 1,
        credential_id,
        time,
        signature: [0; 64],
    };
    negotiate.signature = key.sign(&signed_bytes(
        challenge.gateway_id,
        &challenge.nonce,
        &negotiate,
    ));
    negotiate
}
