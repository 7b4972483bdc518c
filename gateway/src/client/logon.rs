//! Logging on: proof of who we are, then the agreed start.

use core::time::Duration;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Client, ClientError, ClientKey, Receiver, Sender};
use crate::session::{CredentialId, signed_bytes};
use crate::wire::{
    Block, Establish, EstablishmentRejectReason, FromGateway, Negotiate, NegotiationRejectReason,
    TerminateReason, write_frame,
};

/// How to log on.
#[derive(Clone, Debug)]
pub struct Logon {
    /// Which gateway is meant; another one is refused.
    pub gateway_id: u64,
    /// Which credential.
    pub credential: CredentialId,
    /// Its key.
    pub key: ClientKey,
    /// A number for the session; any.
    pub session_id: u64,
    /// The number of the first message, from 1.
    pub first_seq_num: u64,
    /// How often either side shows that it is there; whole milliseconds.
    pub keep_alive: Duration,
    /// How long connecting, and each answer, may take.
    pub timeout: Duration,
}

impl Logon {
    /// With session 1, first message 1, an interval of 10 s and 5 s for each
    /// answer.
    #[must_use]
    pub const fn new(gateway_id: u64, credential: CredentialId, key: ClientKey) -> Self {
        Self {
            gateway_id,
            credential,
            key,
            session_id: 1,
            first_seq_num: 1,
            keep_alive: Duration::from_secs(10),
            timeout: Duration::from_secs(5),
        }
    }

    fn keep_alive_ms(&self) -> Result<u32, ClientError> {
        u32::try_from(self.keep_alive.as_millis())
            .ok()
            .filter(|&interval| interval > 0)
            .ok_or(ClientError::KeepAlive(self.keep_alive))
    }
}

pub(super) fn connect(address: SocketAddr, logon: &Logon) -> Result<Client, ClientError> {
    let keep_alive_ms = logon.keep_alive_ms()?;
    let mut stream = TcpStream::connect_timeout(&address, logon.timeout)
        .map_err(ClientError::io("connecting"))?;
    stream
        .set_nodelay(true)
        .map_err(ClientError::io("setting TCP_NODELAY"))?;
    let reading = stream
        .try_clone()
        .map_err(ClientError::io("splitting the connection"))?;
    let mut receiver = Receiver::new(reading);

    let (gateway_id, nonce) = match receiver.next_message(logon.timeout)? {
        FromGateway::Challenge(challenge) => (challenge.gateway_id, challenge.nonce),
        other => return Err(not_expected("waiting for the challenge", &other)),
    };
    if gateway_id != logon.gateway_id {
        return Err(ClientError::WrongGateway {
            expected: logon.gateway_id,
            found: gateway_id,
        });
    }

    let mut negotiate = Negotiate {
        session_id: logon.session_id,
        credential_id: u64::from(logon.credential.0),
        time: wall_ns(),
        signature: [0; 64],
    };
    negotiate.signature = logon
        .key
        .sign(&signed_bytes(gateway_id, &nonce, &negotiate));
    send(&mut stream, &negotiate)?;
    match receiver.next_message(logon.timeout)? {
        FromGateway::NegotiationResponse(_) => {}
        FromGateway::NegotiationReject(reject) => {
            return Err(ClientError::LogonRefused {
                reason: NegotiationRejectReason::from_number(reject.reason),
            });
        }
        other => return Err(not_expected("negotiating", &other)),
    }

    send(
        &mut stream,
        &Establish {
            session_id: logon.session_id,
            next_seq_num: logon.first_seq_num,
            keep_alive_ms,
            pad1: 0,
        },
    )?;
    match receiver.next_message(logon.timeout)? {
        FromGateway::EstablishmentAck(ack) => {
            let keep_alive = Duration::from_millis(u64::from(ack.keep_alive_ms));
            receiver.agree(ack.next_seq_num, keep_alive);
            let sender = Sender::new(stream, logon.session_id, logon.first_seq_num, keep_alive);
            Ok(Client::new(sender, receiver))
        }
        FromGateway::EstablishmentReject(reject) => Err(ClientError::NotEstablished {
            reason: EstablishmentRejectReason::from_number(reject.reason),
        }),
        other => Err(not_expected("establishing", &other)),
    }
}

fn send<B: Block>(stream: &mut TcpStream, message: &B) -> Result<(), ClientError> {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, message);
    stream
        .write_all(&bytes)
        .map_err(ClientError::io("logging on"))
}

fn not_expected(doing: &'static str, message: &FromGateway) -> ClientError {
    match message {
        FromGateway::Terminate(terminate) => ClientError::Terminated {
            reason: TerminateReason::from_number(terminate.reason),
        },
        other => ClientError::Unexpected {
            doing,
            template: other.template(),
        },
    }
}

/// Nanoseconds since the epoch; zero before it, which every gateway refuses.
fn wall_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_nanos()).ok())
        .unwrap_or(0)
}
