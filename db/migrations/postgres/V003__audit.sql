-- By which request a change was made, when an incident ended, and for how long guarantees did not hold. See schema.sql.
ALTER TABLE audit_trail ADD COLUMN request_id text NOT NULL DEFAULT '';
ALTER TABLE audit_trail ADD COLUMN tenant text NOT NULL DEFAULT '';
ALTER TABLE audit_trail ADD COLUMN token text NOT NULL DEFAULT '';

ALTER TABLE fabric_incidents ADD COLUMN ended_at_us bigint;
ALTER TABLE fabric_incidents ADD COLUMN jobs text NOT NULL DEFAULT '';

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

INSERT INTO reporting_tables (name, about) VALUES
  ('guarantee_breaches', 'one row per time for which a job did not get its guarantee');
