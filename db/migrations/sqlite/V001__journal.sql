-- The journal, its snapshots and the large documents its records name. See schema.sql for what each table is.

CREATE TABLE migrations (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  applied_at_us INTEGER NOT NULL
) STRICT;

CREATE TABLE journal (
  seq INTEGER PRIMARY KEY CHECK (seq > 0),
  term INTEGER NOT NULL CHECK (term >= 0),
  time_us INTEGER NOT NULL,
  actor TEXT NOT NULL,
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  subject_kind TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  crc32 INTEGER NOT NULL,
  payload_bytes INTEGER NOT NULL,
  payload ANY NOT NULL CHECK (typeof(payload) IN ('text', 'blob'))
) STRICT;

CREATE INDEX journal_by_kind ON journal (kind);
CREATE INDEX journal_by_subject ON journal (subject_kind, subject_id);

CREATE TRIGGER journal_is_never_updated BEFORE UPDATE ON journal
BEGIN
  SELECT RAISE(ABORT, 'the journal is append-only');
END;

CREATE TRIGGER journal_is_never_deleted BEFORE DELETE ON journal
BEGIN
  SELECT RAISE(ABORT, 'the journal is append-only');
END;

CREATE TABLE snapshots (
  seq INTEGER PRIMARY KEY CHECK (seq >= 0),
  term INTEGER NOT NULL CHECK (term >= 0),
  time_us INTEGER NOT NULL,
  version INTEGER NOT NULL,
  crc32 INTEGER NOT NULL,
  payload_bytes INTEGER NOT NULL,
  payload ANY NOT NULL CHECK (typeof(payload) IN ('text', 'blob'))
) STRICT;

CREATE TABLE blobs (
  digest TEXT PRIMARY KEY,
  crc32 INTEGER NOT NULL,
  data_bytes INTEGER NOT NULL,
  data BLOB NOT NULL
) STRICT;
