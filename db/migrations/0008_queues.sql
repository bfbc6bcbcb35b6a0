-- Queues: models × benchmarks, each an ordinary run in a process of its own. What is here says what is still to do; what
-- was answered is in the runs themselves.
CREATE TABLE queues (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,       -- sha256 over the words of its items and the local files that they name
  name TEXT NOT NULL UNIQUE,
  file TEXT NOT NULL,             -- the name of its file, without a folder
  begun_at TEXT NOT NULL,         -- UTC, ISO 8601, as all times here
  seen_at TEXT NOT NULL,          -- of the last change
  ended_at TEXT,                  -- NULL: being worked on, or killed
  outcome TEXT,                   -- done, interrupted
  pid INTEGER NOT NULL,
  host TEXT NOT NULL
) STRICT;

CREATE TABLE queue_items (
  queue_id INTEGER NOT NULL REFERENCES queues(id),
  no INTEGER NOT NULL,
  model TEXT NOT NULL,            -- as the file names it
  bench TEXT NOT NULL,
  words TEXT NOT NULL,            -- JSON list: what follows `twlocal`
  wish TEXT NOT NULL,             -- JSON: the call that these words are, by which its run is found
  state TEXT NOT NULL,            -- waiting, fetching, running, ok, skipped, failed
  reason TEXT NOT NULL DEFAULT '',
  engine TEXT NOT NULL DEFAULT '',
  cards TEXT NOT NULL DEFAULT '', -- CUDA_VISIBLE_DEVICES of its process, '' where it was left as it is
  pid INTEGER,                    -- of its process, while that runs
  planned INTEGER,                -- answers in all, NULL where it could not be known beforehand
  begun_at TEXT,
  ended_at TEXT,
  PRIMARY KEY (queue_id, no)
) STRICT, WITHOUT ROWID;

-- What a queue fetches: files that were not in the cache before it, written down before the fetch begins, so that
-- nothing that was there already is ever taken away with them.
CREATE TABLE queue_fetches (
  queue_id INTEGER NOT NULL REFERENCES queues(id),
  repository TEXT NOT NULL,
  revision TEXT NOT NULL,         -- the commit
  files TEXT NOT NULL,            -- JSON list of paths in the repository
  begun_at TEXT NOT NULL,
  reclaimed_at TEXT,
  PRIMARY KEY (queue_id, repository, revision)
) STRICT, WITHOUT ROWID;
