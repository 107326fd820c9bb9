-- The journal, its snapshots, the large documents its records name, and the lease of who may write. See schema.sql for what
-- each table is.

CREATE TABLE migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  sha256 text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE lease (
  id integer PRIMARY KEY CHECK (id = 1),
  holder text NOT NULL,
  term bigint NOT NULL CHECK (term >= 0),
  expires timestamptz NOT NULL,
  renewed timestamptz NOT NULL DEFAULT clock_timestamp()
);

INSERT INTO lease (id, holder, term, expires) VALUES (1, '', 0, '-infinity');

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

CREATE TABLE blobs (
  digest text PRIMARY KEY,
  crc32 bigint NOT NULL,
  data_bytes bigint NOT NULL,
  data bytea NOT NULL
);

ALTER TABLE journal ALTER COLUMN packed SET STORAGE EXTERNAL;
ALTER TABLE snapshots ALTER COLUMN packed SET STORAGE EXTERNAL;
ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTERNAL;
