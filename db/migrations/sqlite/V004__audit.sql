-- By which request a change was made, when an incident ended, and for how long guarantees did not hold. See schema.sql.
ALTER TABLE audit_trail ADD COLUMN request_id TEXT NOT NULL DEFAULT '';
ALTER TABLE audit_trail ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE audit_trail ADD COLUMN token TEXT NOT NULL DEFAULT '';

ALTER TABLE fabric_incidents ADD COLUMN ended_at_us INTEGER;
ALTER TABLE fabric_incidents ADD COLUMN jobs TEXT NOT NULL DEFAULT '';

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

INSERT INTO reporting_tables (name, about) VALUES
  ('guarantee_breaches', 'one row per time for which a job did not get its guarantee');
