-- One run: a model under a protocol over a sample. Its key hashes everything that could change an answer.
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE,
  model TEXT NOT NULL,
  backend TEXT NOT NULL,
  bench TEXT NOT NULL,
  protocol TEXT NOT NULL,
  repeats INTEGER NOT NULL,
  private INTEGER NOT NULL,
  wish TEXT NOT NULL,             -- JSON: the call that started it, so that `resume` can repeat it; holds no secret
  manifest TEXT NOT NULL,         -- JSON: the whole apparatus, as far as it is known before the first answer
  created_at TEXT NOT NULL,       -- UTC, ISO 8601
  completed_at TEXT               -- when the last planned row was answered
) STRICT;

-- One stretch of work on a run. A sitting without an end was killed, or is being sat now.
CREATE TABLE sittings (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES runs(id),
  started_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL,     -- of the last commit, so that a killed sitting has a length too
  ended_at TEXT,
  outcome TEXT,                   -- complete, incomplete, interrupted, stopped, failed
  note TEXT NOT NULL DEFAULT '',
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  engine TEXT NOT NULL,
  engine_version TEXT NOT NULL,
  engine_info TEXT NOT NULL,      -- JSON: settings, every decoding value sent, what the engine says of the model
  machine TEXT NOT NULL           -- JSON: hardware, package versions, git state
) STRICT;
CREATE INDEX sittings_run ON sittings(run_id);

-- The words of an item. Empty texts in a private run: then only its hash is kept.
CREATE TABLE items (
  content_hash TEXT PRIMARY KEY,
  stem_hash TEXT NOT NULL,
  question TEXT,
  a TEXT, b TEXT, c TEXT, d TEXT
) STRICT, WITHOUT ROWID;

-- The plan of a run: which rows, in which order. The same words may stand in several rows.
CREATE TABLE run_items (
  run_id INTEGER NOT NULL REFERENCES runs(id),
  no INTEGER NOT NULL,
  content_hash TEXT NOT NULL REFERENCES items(content_hash),
  subject TEXT NOT NULL,
  occurrence INTEGER NOT NULL,    -- 0 unless the same row stands in the subject more than once
  item_id TEXT NOT NULL,          -- the source's own id, may be empty
  answer TEXT NOT NULL,           -- the keyed letter in the source's order
  PRIMARY KEY (run_id, no)
) STRICT, WITHOUT ROWID;

-- The record. Written once, never changed: every score is a view over it.
CREATE TABLE responses (
  run_id INTEGER NOT NULL REFERENCES runs(id),
  no INTEGER NOT NULL,
  repeat INTEGER NOT NULL,        -- 0 is the first
  sitting_id INTEGER NOT NULL REFERENCES sittings(id),
  option_order TEXT NOT NULL,     -- source letters in the order shown
  text TEXT NOT NULL,
  reasoning TEXT NOT NULL,
  finish TEXT NOT NULL,
  prompt_tokens INTEGER,
  completion_tokens INTEGER,
  reasoning_tokens INTEGER,
  latency REAL,                   -- seconds
  prompt_hash TEXT,               -- sha256 of the rendered prompt; NULL: the server rendered it
  attempt INTEGER NOT NULL,
  flags TEXT NOT NULL,            -- JSON list of names
  answered_at TEXT NOT NULL,
  PRIMARY KEY (run_id, no, repeat)
) STRICT;

-- What went wrong for reasons of the machine. Such a row is not answered; a later sitting tries it again.
CREATE TABLE failures (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES runs(id),
  no INTEGER NOT NULL,
  repeat INTEGER NOT NULL,
  sitting_id INTEGER NOT NULL REFERENCES sittings(id),
  kind TEXT NOT NULL,
  error TEXT NOT NULL,
  partial TEXT NOT NULL,          -- what had come before it broke off
  attempt INTEGER NOT NULL,
  failed_at TEXT NOT NULL
) STRICT;
CREATE INDEX failures_run ON failures(run_id, no, repeat);

-- Hashes of large local files, so that a resumed run need not read 100 GB of weights to know them again.
CREATE TABLE file_hashes (
  path TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL,
  sha256 TEXT NOT NULL
) STRICT;
