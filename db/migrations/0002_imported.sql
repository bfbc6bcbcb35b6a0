-- What came from elsewhere. A full bundle becomes a run as any other (its responses can be read again), and a line in
-- imported_runs says so; its key is never that of a run made here, so that no run goes on with somebody else's answers.
CREATE TABLE imported_runs (
  run_id INTEGER PRIMARY KEY REFERENCES runs(id),
  checksum TEXT NOT NULL UNIQUE,  -- sha256 over its manifest and its responses
  source TEXT NOT NULL,           -- the name of the file or folder it came in
  marks TEXT NOT NULL,            -- JSON list: quantised, protocol, …
  imported_at TEXT NOT NULL
) STRICT;

-- Results without responses that could be read again as ours: hash-only bundles, the public runners' folders, and
-- Twinkle Eval's files.
CREATE TABLE imported_results (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,             -- bundle, runner, twinkle
  source TEXT NOT NULL,
  model TEXT NOT NULL,
  bench TEXT NOT NULL,
  protocol TEXT NOT NULL,         -- '' where it is not told
  complete INTEGER,               -- whether its source says that it is complete; NULL: it does not tell
  quantised INTEGER,              -- NULL: it does not tell
  marks TEXT NOT NULL,            -- JSON list
  provenance TEXT NOT NULL,       -- JSON: what the source tells of hardware, versions, dataset and parameters
  checksum TEXT NOT NULL UNIQUE,  -- sha256 over model, bench and rows: importing twice is importing once
  imported_at TEXT NOT NULL
) STRICT;

-- A row a response. NULL: the source does not tell. Stems repeat, so qh identifies nothing; only (result_id, at) does.
CREATE TABLE imported_rows (
  result_id INTEGER NOT NULL REFERENCES imported_results(id),
  at INTEGER NOT NULL,            -- place in the source, from 0
  repeat INTEGER NOT NULL,
  subject TEXT,
  qh TEXT,                        -- first 16 hex digits of sha256 of the stem
  ch TEXT,                        -- content hash
  ok INTEGER,                     -- right, as its source read it
  boxp INTEGER,                   -- the public board's strict reading read something
  lenp INTEGER,                   -- its lenient reading did
  correct INTEGER,                -- from here on: twlocal's own readings
  lenient_correct INTEGER,
  wrote_box INTEGER,
  parsed INTEGER,
  lenient_parsed INTEGER,
  truncated INTEGER,
  detail TEXT,                    -- JSON: what else the source keeps of the row (question, options, response, …)
  PRIMARY KEY (result_id, at)
) STRICT, WITHOUT ROWID;
