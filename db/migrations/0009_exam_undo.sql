-- A person's decision about a row can be taken back; what was decided stays to be read.
ALTER TABLE exam_decisions ADD COLUMN undone_at TEXT;   -- NULL: it holds, unless a later one does
