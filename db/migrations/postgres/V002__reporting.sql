-- Tables for people's SQL. Columns are bigint, double precision or text, and nullable or with a default: a row may be written
-- in parts.

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
  summary text NOT NULL DEFAULT ''
);

CREATE INDEX fabric_incidents_by_time ON fabric_incidents (time_us);

CREATE TABLE audit_trail (
  seq bigint PRIMARY KEY,
  time_us bigint NOT NULL DEFAULT 0,
  actor text NOT NULL DEFAULT '',
  kind text NOT NULL DEFAULT '',
  subject text NOT NULL DEFAULT '',
  summary text NOT NULL DEFAULT ''
);

CREATE INDEX audit_trail_by_time ON audit_trail (time_us);
CREATE INDEX audit_trail_by_actor ON audit_trail (actor, time_us);

INSERT INTO reporting_tables (name, about) VALUES
  ('job_history', 'one row per job, updated as it is submitted, placed and ended'),
  ('fabric_incidents', 'one row per thing that went wrong in the fabric'),
  ('audit_trail', 'one row per journal record that a person or program asked for');
