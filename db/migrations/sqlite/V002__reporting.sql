-- Tables for people's SQL, written in the same transaction as the records they tell about. See schema.sql.

CREATE TABLE reporting_tables (
  name TEXT PRIMARY KEY,
  about TEXT NOT NULL
) STRICT;

CREATE TABLE job_history (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL DEFAULT '',
  name TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL DEFAULT '',
  gpus INTEGER NOT NULL DEFAULT 0,
  nodes INTEGER NOT NULL DEFAULT 0,
  node_names TEXT NOT NULL DEFAULT '',
  submitted_at_us INTEGER,
  placed_at_us INTEGER,
  ended_at_us INTEGER,
  reason TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX job_history_by_tenant ON job_history (tenant, submitted_at_us);
CREATE INDEX job_history_by_submission ON job_history (submitted_at_us);

CREATE TABLE fabric_incidents (
  id TEXT PRIMARY KEY,
  time_us INTEGER NOT NULL DEFAULT 0,
  kind TEXT NOT NULL DEFAULT '',
  severity TEXT NOT NULL DEFAULT '',
  subject TEXT NOT NULL DEFAULT '',
  summary TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX fabric_incidents_by_time ON fabric_incidents (time_us);

CREATE TABLE audit_trail (
  seq INTEGER PRIMARY KEY,
  time_us INTEGER NOT NULL DEFAULT 0,
  actor TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL DEFAULT '',
  subject TEXT NOT NULL DEFAULT '',
  summary TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX audit_trail_by_time ON audit_trail (time_us);
CREATE INDEX audit_trail_by_actor ON audit_trail (actor, time_us);

INSERT INTO reporting_tables (name, about) VALUES
  ('job_history', 'one row per job, updated as it is submitted, placed and ended'),
  ('fabric_incidents', 'one row per thing that went wrong in the fabric'),
  ('audit_trail', 'one row per journal record that a person or program asked for');
