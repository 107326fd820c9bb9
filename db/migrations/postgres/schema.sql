-- The whole schema of the PostgreSQL store, as the migrations beside this file build it (a test compares the two). To change it,
-- add the next V<number>__<what>.sql and edit this file to the result; a migration that was released is never edited: the store
-- keeps the SHA-256 of each it ran, and refuses to start when one differs.
--
-- Times in ..._us are microseconds since 1970-01-01 UTC. Everybody may read beside the service:
-- psql -c "SELECT * FROM job_history WHERE tenant = 'physics' ORDER BY submitted_at_us DESC LIMIT 20"

-- Which migrations ran, and when.
CREATE TABLE migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  sha256 text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Who may write: every append checks holder, term and expiry FOR SHARE, and who takes over updates the row, which waits until
-- the appends under way have committed. One row.
CREATE TABLE lease (
  id integer PRIMARY KEY CHECK (id = 1),
  holder text NOT NULL,
  term bigint NOT NULL CHECK (term >= 0),
  expires timestamptz NOT NULL,
  renewed timestamptz NOT NULL DEFAULT clock_timestamp()
);

INSERT INTO lease (id, holder, term, expires) VALUES (1, '', 0, '-infinity');

-- The truth: every event, in order, without gaps. State is the newest snapshot plus the records after it. seq is never drawn
-- from a SEQUENCE, which leaves gaps. nonce: the same for the records of one batch, so that a writer that lost its connection
-- while committing recognizes its own batch. payload: JSON as it is; packed: zlib, where the text is long. crc32: of the
-- other columns without nonce, payload uncompressed (db/checksum.h).
CREATE TABLE journal (
  seq bigint PRIMARY KEY CHECK (seq > 0),
  term bigint NOT NULL CHECK (term >= 0),
  time_us bigint NOT NULL,
  actor text NOT NULL,
  kind text NOT NULL,
  version bigint NOT NULL,
  subject_kind text NOT NULL,
  subject_id text NOT NULL,
  crc32 bigint NOT NULL,
  nonce bigint NOT NULL,
  payload_bytes bigint NOT NULL,
  payload text,
  packed bytea,
  CHECK ((payload IS NULL) <> (packed IS NULL))
);

CREATE INDEX journal_by_kind ON journal (kind, seq);
CREATE INDEX journal_by_subject ON journal (subject_kind, subject_id, seq);

CREATE FUNCTION journal_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the journal is append-only';
END
$$;

CREATE TRIGGER journal_is_never_changed BEFORE UPDATE OR DELETE ON journal
  FOR EACH ROW EXECUTE FUNCTION journal_is_append_only();

CREATE TRIGGER journal_is_never_truncated BEFORE TRUNCATE ON journal
  FOR EACH STATEMENT EXECUTE FUNCTION journal_is_append_only();

-- The state after record seq; the newest two are kept, so that one damaged costs a longer replay and nothing else.
CREATE TABLE snapshots (
  seq bigint PRIMARY KEY CHECK (seq >= 0),
  term bigint NOT NULL CHECK (term >= 0),
  time_us bigint NOT NULL,
  version bigint NOT NULL,
  crc32 bigint NOT NULL,
  payload_bytes bigint NOT NULL,
  payload text,
  packed bytea,
  CHECK ((payload IS NULL) <> (packed IS NULL))
);

-- Large immutable documents (an accepted topology), named by records through their digest: SHA-256 of the uncompressed bytes.
CREATE TABLE blobs (
  digest text PRIMARY KEY,
  crc32 bigint NOT NULL,
  data_bytes bigint NOT NULL,
  data bytea NOT NULL
);

-- What is compressed already is not compressed again.
ALTER TABLE journal ALTER COLUMN packed SET STORAGE EXTERNAL;
ALTER TABLE snapshots ALTER COLUMN packed SET STORAGE EXTERNAL;
ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTERNAL;

-- Which tables are for people: these, and no other, are written through ReportRow. Columns of theirs are bigint, double
-- precision or text, and nullable or with a default: a row may be written in parts.
CREATE TABLE reporting_tables (
  name text PRIMARY KEY,
  about text NOT NULL
);

CREATE TABLE job_history (
  id text PRIMARY KEY,
  tenant text NOT NULL DEFAULT '',
  name text NOT NULL DEFAULT '',
  state text NOT NULL DEFAULT '',
  gpus bigint NOT NULL DEFAULT 0,
  nodes bigint NOT NULL DEFAULT 0,
  node_names text NOT NULL DEFAULT '',
  submitted_at_us bigint,
  placed_at_us bigint,
  ended_at_us bigint,
  reason text NOT NULL DEFAULT ''
);

CREATE INDEX job_history_by_tenant ON job_history (tenant, submitted_at_us);
CREATE INDEX job_history_by_submission ON job_history (submitted_at_us);

CREATE TABLE fabric_incidents (
  id text PRIMARY KEY,
  time_us bigint NOT NULL DEFAULT 0,
  kind text NOT NULL DEFAULT '',
  severity text NOT NULL DEFAULT '',
  subject text NOT NULL DEFAULT '',
  summary text NOT NULL DEFAULT '',
  ended_at_us bigint,                      -- NULL: it is not over
  jobs text NOT NULL DEFAULT ''             -- affected when it was raised, divided by blanks; at most 100
);

CREATE INDEX fabric_incidents_by_time ON fabric_incidents (time_us);

-- The times for which jobs did not get their guarantees: one row each.
CREATE TABLE guarantee_breaches (
  id text PRIMARY KEY,
  job text NOT NULL DEFAULT '',
  tenant text NOT NULL DEFAULT '',
  class text NOT NULL DEFAULT '',
  guaranteed_mbps bigint NOT NULL DEFAULT 0,
  began_at_us bigint NOT NULL DEFAULT 0,
  ended_at_us bigint,
  reason text NOT NULL DEFAULT ''
);

CREATE INDEX guarantee_breaches_by_tenant ON guarantee_breaches (tenant, began_at_us);

CREATE TABLE audit_trail (
  seq bigint PRIMARY KEY,
  time_us bigint NOT NULL DEFAULT 0,
  actor text NOT NULL DEFAULT '',
  kind text NOT NULL DEFAULT '',
  subject text NOT NULL DEFAULT '',
  summary text NOT NULL DEFAULT '',
  request_id text NOT NULL DEFAULT '',      -- X-Request-Id of who asked; '': the service itself
  tenant text NOT NULL DEFAULT '',          -- of a member who asked
  token text NOT NULL DEFAULT ''            -- id of the token that was shown
);

CREATE INDEX audit_trail_by_time ON audit_trail (time_us);
CREATE INDEX audit_trail_by_actor ON audit_trail (actor, time_us);

INSERT INTO reporting_tables (name, about) VALUES
  ('job_history', 'one row per job, updated as it is submitted, placed and ended'),
  ('fabric_incidents', 'one row per thing that went wrong in the fabric'),
  ('audit_trail', 'one row per journal record that a person or program asked for'),
  ('guarantee_breaches', 'one row per time for which a job did not get its guarantee');
