-- Records that a snapshot stands for may be removed, from the oldest on.
CREATE TABLE journal_floor (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  seq INTEGER NOT NULL CHECK (seq >= 0)
) STRICT;

INSERT INTO journal_floor (one, seq) VALUES (1, 0);

DROP TRIGGER journal_is_never_deleted;

CREATE TRIGGER journal_is_deleted_behind_the_floor_only BEFORE DELETE ON journal
  WHEN OLD.seq > (SELECT seq FROM journal_floor)
BEGIN
  SELECT RAISE(ABORT, 'the journal is append-only');
END;
