-- tw-formosa-bench under construction. A build is one state of the corpus cut in one way; every later stage hangs on a
-- build and a window, draft or item of it. What models write (drafts, verdicts of judges) is kept whole, in tables of the
-- stages that ask them; what rules and arithmetic give can be made again and is kept so that a stage goes on.
CREATE TABLE formosa_builds (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,       -- sha256 over the corpus's fingerprint, the settings and the rules of cutting
  name TEXT NOT NULL UNIQUE,
  corpus TEXT NOT NULL,           -- sha256 over path and sha256 of every file, articles or not
  settings TEXT NOT NULL,         -- JSON: what the windows were cut by
  files TEXT NOT NULL,            -- JSON: number of files by kind (article, hub, translation, …)
  created_at TEXT NOT NULL
) STRICT;

-- The articles of a build, written together with their windows: an article is here whole or not at all.
CREATE TABLE formosa_articles (
  build_id INTEGER NOT NULL REFERENCES formosa_builds(id),
  path TEXT NOT NULL,             -- relative, with slashes
  sha256 TEXT NOT NULL,           -- of the file's text as UTF-8
  title TEXT NOT NULL,
  category TEXT NOT NULL,
  author TEXT NOT NULL,
  date TEXT NOT NULL,
  license TEXT NOT NULL,
  chars INTEGER NOT NULL,         -- of the file
  prose INTEGER NOT NULL,         -- of its blocks of prose, without line breaks
  windowed INTEGER NOT NULL,      -- of its windows, without line breaks
  dropped TEXT NOT NULL,          -- JSON: how much was left out, by name
  note TEXT NOT NULL,             -- why its front matter could not be read, else ''
  PRIMARY KEY (build_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE formosa_windows (
  build_id INTEGER NOT NULL,
  path TEXT NOT NULL,
  span_start INTEGER NOT NULL,    -- offsets in characters of the file's text
  span_end INTEGER NOT NULL,
  hash TEXT NOT NULL,             -- sha256 of the text
  section TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (build_id, path, span_start),
  FOREIGN KEY (build_id, path) REFERENCES formosa_articles(build_id, path)
) STRICT, WITHOUT ROWID;

-- One drafted item, as its generator wrote it. `no` counts the drafts of one window from one source.
CREATE TABLE formosa_drafts (
  id INTEGER PRIMARY KEY,
  build_id INTEGER NOT NULL REFERENCES formosa_builds(id),
  window_hash TEXT NOT NULL,
  source TEXT NOT NULL,           -- who drafted: a generator, or the name given to a file of drafts
  no INTEGER NOT NULL,
  question TEXT NOT NULL,
  a TEXT NOT NULL, b TEXT NOT NULL, c TEXT NOT NULL, d TEXT NOT NULL,
  answer TEXT NOT NULL,           -- the letter as written; a rule checks it
  UNIQUE (build_id, window_hash, source, no)
) STRICT;

-- What screening said of a draft. Another version of the rules or the lexicon screens anew.
CREATE TABLE formosa_screened (
  draft_id INTEGER PRIMARY KEY REFERENCES formosa_drafts(id),
  rules TEXT NOT NULL,            -- sha256 over the rules' version, the lexicon and the table of characters
  kept INTEGER NOT NULL,
  question TEXT NOT NULL,         -- without the scaffolding that was stripped
  findings TEXT NOT NULL          -- JSON list: rule, level, where, span, words
) STRICT;

-- An item with its options in the order of the published set.
CREATE TABLE formosa_items (
  draft_id INTEGER PRIMARY KEY REFERENCES formosa_drafts(id),
  content_hash TEXT NOT NULL,
  option_order TEXT NOT NULL,     -- the draft's letters in the order of the published set
  question TEXT NOT NULL,
  a TEXT NOT NULL, b TEXT NOT NULL, c TEXT NOT NULL, d TEXT NOT NULL,
  answer TEXT NOT NULL
) STRICT;
