-- The whole schema of the SQLite store, as the migrations beside this file build it (a test compares the two). To change
-- it, add the next V<number>__<what>.sql and edit this file to the result; a migration that was released is never edited:
-- the store keeps the SHA-256 of each it ran, and refuses to start when one differs.
--
-- The file is in WAL mode with synchronous=FULL. Its header carries application_id 0x524C5756 ("RLWV") and user_version =
-- the newest migration. Times are microseconds since 1970-01-01 UTC. One railweaved writes at a time (flock on
-- <file>.lock); other programs may read beside it, e.g. sqlite3 -readonly railweave.db 'SELECT * FROM job_history'.

-- Which migrations ran, and when.
CREATE TABLE migrations (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,           -- of the migration's file
  applied_at_us INTEGER NOT NULL
) STRICT;

-- The truth: every event after the floor, in order, without gaps. State is the newest snapshot plus the records after it.
CREATE TABLE journal (
  seq INTEGER PRIMARY KEY CHECK (seq > 0),     -- 1, 2, 3, ...
  term INTEGER NOT NULL CHECK (term >= 0),     -- of the leader that wrote it; never goes back
  time_us INTEGER NOT NULL,
  actor TEXT NOT NULL,                         -- who caused it
  kind TEXT NOT NULL,                          -- 'job.placed'
  version INTEGER NOT NULL,                    -- of the payload's form, by kind
  subject_kind TEXT NOT NULL,                  -- 'job'
  subject_id TEXT NOT NULL,
  crc32 INTEGER NOT NULL,                      -- of all other columns, payload uncompressed (db/checksum.h)
  payload_bytes INTEGER NOT NULL,              -- uncompressed
  payload ANY NOT NULL CHECK (typeof(payload) IN ('text', 'blob'))  -- text: JSON as it is; blob: zlib
) STRICT;

CREATE INDEX journal_by_kind ON journal (kind);
CREATE INDEX journal_by_subject ON journal (subject_kind, subject_id);

CREATE TRIGGER journal_is_never_updated BEFORE UPDATE ON journal
BEGIN
  SELECT RAISE(ABORT, 'the journal is append-only');
END;

CREATE TRIGGER journal_is_deleted_behind_the_floor_only BEFORE DELETE ON journal
  WHEN OLD.seq > (SELECT seq FROM journal_floor)
BEGIN
  SELECT RAISE(ABORT, 'the journal is append-only');
END;

-- One row: records up to this one may have been removed, because a snapshot stands for them.
CREATE TABLE journal_floor (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  seq INTEGER NOT NULL CHECK (seq >= 0)
) STRICT;

INSERT INTO journal_floor (one, seq) VALUES (1, 0);

-- The state after record seq; the newest two are kept, so that one damaged costs a longer replay and nothing else.
CREATE TABLE snapshots (
  seq INTEGER PRIMARY KEY CHECK (seq >= 0),
  term INTEGER NOT NULL CHECK (term >= 0),
  time_us INTEGER NOT NULL,
  version INTEGER NOT NULL,
  crc32 INTEGER NOT NULL,
  payload_bytes INTEGER NOT NULL,
  payload ANY NOT NULL CHECK (typeof(payload) IN ('text', 'blob'))
) STRICT;

-- Large immutable documents (an accepted topology), named by records through their digest.
CREATE TABLE blobs (
  digest TEXT PRIMARY KEY,        -- SHA-256, hexadecimal, of the uncompressed bytes
  crc32 INTEGER NOT NULL,         -- of digest and uncompressed bytes
  data_bytes INTEGER NOT NULL,    -- uncompressed
  data BLOB NOT NULL              -- zlib
) STRICT;

-- Which tables are for people: these, and no other, can be written through ReportRow.
CREATE TABLE reporting_tables (
  name TEXT PRIMARY KEY,
  about TEXT NOT NULL
) STRICT;

-- Columns of reporting tables are INTEGER, REAL or TEXT, and nullable or with a default: a row may be written in parts.
CREATE TABLE job_history (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL DEFAULT '',
  name TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL DEFAULT '',
  gpus INTEGER NOT NULL DEFAULT 0,
  nodes INTEGER NOT NULL DEFAULT 0,         -- how many
  node_names TEXT NOT NULL DEFAULT '',
  submitted_at_us INTEGER,
  placed_at_us INTEGER,
  ended_at_us INTEGER,
  reason TEXT NOT NULL DEFAULT ''           -- why it ended, or was refused
) STRICT;

CREATE INDEX job_history_by_tenant ON job_history (tenant, submitted_at_us);
CREATE INDEX job_history_by_submission ON job_history (submitted_at_us);

CREATE TABLE fabric_incidents (
  id TEXT PRIMARY KEY,
  time_us INTEGER NOT NULL DEFAULT 0,
  kind TEXT NOT NULL DEFAULT '',
  severity TEXT NOT NULL DEFAULT '',
  subject TEXT NOT NULL DEFAULT '',
  summary TEXT NOT NULL DEFAULT '',
  ended_at_us INTEGER,                      -- NULL: it is not over
  jobs TEXT NOT NULL DEFAULT ''             -- affected when it was raised, divided by blanks; at most 100
) STRICT;

CREATE INDEX fabric_incidents_by_time ON fabric_incidents (time_us);

-- The times for which jobs did not get their guarantees: one row each.
CREATE TABLE guarantee_breaches (
  id TEXT PRIMARY KEY,
  job TEXT NOT NULL DEFAULT '',
  tenant TEXT NOT NULL DEFAULT '',
  class TEXT NOT NULL DEFAULT '',
  guaranteed_mbps INTEGER NOT NULL DEFAULT 0,
  began_at_us INTEGER NOT NULL DEFAULT 0,
  ended_at_us INTEGER,
  reason TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX guarantee_breaches_by_tenant ON guarantee_breaches (tenant, began_at_us);

CREATE TABLE audit_trail (
  seq INTEGER PRIMARY KEY,                  -- of the journal record it tells about
  time_us INTEGER NOT NULL DEFAULT 0,
  actor TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL DEFAULT '',
  subject TEXT NOT NULL DEFAULT '',
  summary TEXT NOT NULL DEFAULT '',
  request_id TEXT NOT NULL DEFAULT '',      -- X-Request-Id of who asked; '': the service itself
  tenant TEXT NOT NULL DEFAULT '',          -- of a member who asked
  token TEXT NOT NULL DEFAULT ''            -- id of the token that was shown
) STRICT;

CREATE INDEX audit_trail_by_time ON audit_trail (time_us);
CREATE INDEX audit_trail_by_actor ON audit_trail (actor, time_us);

INSERT INTO reporting_tables (name, about) VALUES
  ('job_history', 'one row per job, updated as it is submitted, placed and ended'),
  ('fabric_incidents', 'one row per thing that went wrong in the fabric'),
  ('audit_trail', 'one row per journal record that a person or program asked for'),
  ('guarantee_breaches', 'one row per time for which a job did not get its guarantee');
