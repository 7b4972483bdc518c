-- Prices and quantities are integers in billionths (`_e9`), amounts are exact
-- decimal texts, times are nanoseconds since 1970. Numbers of 64 bits without a
-- sign are stored as those with one: above 2^63 they read as negative.

CREATE TABLE cursors (
    shard      INTEGER PRIMARY KEY,
    journal    TEXT    NOT NULL,
    segment    INTEGER NOT NULL,
    at_byte    INTEGER NOT NULL,
    sequence   INTEGER NOT NULL
) STRICT;

CREATE TABLE since (
    shard      INTEGER NOT NULL,
    sequence   INTEGER NOT NULL,
    at_ns      INTEGER NOT NULL,
    PRIMARY KEY (shard, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE orders (
    client_order_id TEXT PRIMARY KEY,
    shard           INTEGER NOT NULL,
    account         INTEGER NOT NULL,
    instrument      INTEGER NOT NULL,
    side            TEXT    NOT NULL,
    order_type      TEXT    NOT NULL,
    time_in_force   TEXT    NOT NULL,
    quantity_e9     INTEGER,
    volume          TEXT,
    price_e9        INTEGER,
    filled_e9       INTEGER NOT NULL,
    state           TEXT    NOT NULL,
    credential      INTEGER NOT NULL,
    reference       INTEGER NOT NULL,
    opened_ns       INTEGER NOT NULL,
    changed_ns      INTEGER NOT NULL,
    sequence        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX orders_of_account ON orders (account, opened_ns);
CREATE INDEX orders_open ON orders (account) WHERE state = 'open';

CREATE TABLE fills (
    shard           INTEGER NOT NULL,
    sequence        INTEGER NOT NULL,
    at_ns           INTEGER NOT NULL,
    venue           TEXT    NOT NULL,
    fill_id         INTEGER NOT NULL,
    client_order_id TEXT    NOT NULL,
    account         INTEGER,
    instrument      INTEGER,
    side            TEXT,
    price_e9        INTEGER NOT NULL,
    quantity_e9     INTEGER NOT NULL,
    fee             TEXT    NOT NULL,
    outcome         TEXT    NOT NULL,
    PRIMARY KEY (shard, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX fills_of_order ON fills (client_order_id);
CREATE INDEX fills_of_account ON fills (account, at_ns);

CREATE TABLE reports (
    shard           INTEGER NOT NULL,
    sequence        INTEGER NOT NULL,
    at_ns           INTEGER NOT NULL,
    kind            TEXT    NOT NULL,
    credential      INTEGER NOT NULL,
    number          INTEGER NOT NULL,
    account         INTEGER NOT NULL,
    instrument      INTEGER NOT NULL,
    side            TEXT    NOT NULL,
    reference       INTEGER NOT NULL,
    order_reference INTEGER NOT NULL,
    client_order_id TEXT,
    code            TEXT,
    fill_id         INTEGER,
    price_e9        INTEGER NOT NULL,
    quantity_e9     INTEGER NOT NULL,
    filled_e9       INTEGER NOT NULL,
    leaves_e9       INTEGER NOT NULL,
    PRIMARY KEY (shard, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX reports_of_account ON reports (account, at_ns);

CREATE TABLE balances (
    account              INTEGER NOT NULL,
    instrument           INTEGER NOT NULL,
    base                 INTEGER NOT NULL,
    base_available       TEXT    NOT NULL,
    base_held            TEXT    NOT NULL,
    settlement           INTEGER NOT NULL,
    settlement_available TEXT    NOT NULL,
    settlement_held      TEXT    NOT NULL,
    position             TEXT    NOT NULL,
    pnl                  TEXT    NOT NULL,
    at_ns                INTEGER NOT NULL,
    shard                INTEGER NOT NULL,
    sequence             INTEGER NOT NULL,
    PRIMARY KEY (account, instrument)
) STRICT, WITHOUT ROWID;

CREATE TABLE adjustments (
    shard      INTEGER NOT NULL,
    sequence   INTEGER NOT NULL,
    at_ns      INTEGER NOT NULL,
    account    INTEGER NOT NULL,
    asset      INTEGER NOT NULL,
    what       TEXT    NOT NULL,
    amount     TEXT    NOT NULL,
    PRIMARY KEY (shard, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX adjustments_of_account ON adjustments (account, at_ns);

CREATE TABLE blocks (
    shard      INTEGER NOT NULL,
    sequence   INTEGER NOT NULL,
    at_ns      INTEGER NOT NULL,
    account    INTEGER,
    cause      TEXT,
    PRIMARY KEY (shard, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE config_changes (
    shard      INTEGER NOT NULL,
    sequence   INTEGER NOT NULL,
    at_ns      INTEGER NOT NULL,
    program    TEXT    NOT NULL,
    digest     TEXT    NOT NULL,
    PRIMARY KEY (shard, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE decisions (
    client_order_id TEXT PRIMARY KEY,
    decision_id     TEXT    NOT NULL,
    agent           TEXT    NOT NULL,
    account         INTEGER NOT NULL,
    verdict         TEXT    NOT NULL,
    issued_ns       INTEGER NOT NULL,
    expires_ns      INTEGER NOT NULL,
    shard           INTEGER NOT NULL,
    sequence        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
