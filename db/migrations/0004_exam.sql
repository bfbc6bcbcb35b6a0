-- tw-exam-bench under construction: the accounting of every stage, in a database of its own (exam.db).
-- Text is what the parser read; a document is parsed again when the parser's own source has changed.

-- One PDF, by content: a document that many categories share is parsed once.
CREATE TABLE exam_documents (
  id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('Q', 'A', 'M')),   -- question paper, answer key, correction
  path TEXT NOT NULL,             -- where it was found last, as given
  bytes INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'parsed', 'rejected')),
  attempts INTEGER NOT NULL DEFAULT 0,
  parser TEXT NOT NULL DEFAULT '',   -- sha256 over the parser's source
  reasons TEXT NOT NULL DEFAULT '[]',   -- JSON list of [reason, detail]
  read TEXT NOT NULL DEFAULT '{}',   -- JSON: a paper's header, groups and flags, or a key's head
  UNIQUE (sha256, kind)
) STRICT;

-- The items of a question paper, as printed.
CREATE TABLE exam_items (
  document_id INTEGER NOT NULL REFERENCES exam_documents(id),
  number INTEGER NOT NULL,
  question TEXT NOT NULL,
  options TEXT NOT NULL,          -- JSON: letter → text
  page INTEGER NOT NULL,
  flags TEXT NOT NULL,            -- JSON list: doubts
  excluded TEXT NOT NULL,         -- JSON list: reasons for which it cannot be used
  group_first INTEGER, group_last INTEGER,
  continues INTEGER,
  regions TEXT NOT NULL,          -- JSON list of [page, x0, top, x1, bottom] in points
  PRIMARY KEY (document_id, number)
) STRICT;

-- The cells of an answer key or a correction, as printed.
CREATE TABLE exam_keys (
  document_id INTEGER NOT NULL REFERENCES exam_documents(id),
  number INTEGER NOT NULL,
  cell TEXT NOT NULL,             -- A–E, several letters, or #
  note_kind TEXT, note_accepted TEXT, note_text TEXT,   -- what the 備註 says of it; accepted is a JSON list
  PRIMARY KEY (document_id, number)
) STRICT, WITHOUT ROWID;

-- One sitting's paper with its key and correction. A document that was listed and not found is NULL and in `absent`.
CREATE TABLE exam_papers (
  name TEXT PRIMARY KEY,
  question_id INTEGER REFERENCES exam_documents(id),
  answer_id INTEGER REFERENCES exam_documents(id),
  correction_id INTEGER REFERENCES exam_documents(id),
  absent TEXT NOT NULL,           -- JSON list of [kind, reason, path]
  listed TEXT NOT NULL,           -- JSON: year, title, subject as the manifest names them, where it does
  state TEXT NOT NULL CHECK (state IN ('waiting', 'paired', 'rejected')),
  pairing TEXT NOT NULL DEFAULT '',   -- what it was paired from: sha256 over documents and parser
  reasons TEXT NOT NULL DEFAULT '[]',
  flags TEXT NOT NULL DEFAULT '[]',
  year INTEGER,                   -- Minguo
  title TEXT NOT NULL DEFAULT '',
  subject_title TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

-- The official answer of each item of a paired paper, after corrections.
CREATE TABLE exam_answers (
  paper TEXT NOT NULL REFERENCES exam_papers(name),
  number INTEGER NOT NULL,
  answer TEXT,                    -- A–D, NULL when no single letter is the key
  accepted TEXT NOT NULL,         -- JSON list: the answers that are credited
  original TEXT,                  -- the letter before a correction
  note TEXT NOT NULL,
  excluded TEXT NOT NULL,         -- JSON list
  PRIMARY KEY (paper, number)
) STRICT, WITHOUT ROWID;

-- What became of each raw item in the last build.
CREATE TABLE exam_fates (
  paper TEXT NOT NULL REFERENCES exam_papers(name),
  number INTEGER NOT NULL,
  subject TEXT NOT NULL,
  fate TEXT NOT NULL,             -- published, withdrawn, folded, or the rule that filtered it
  rule TEXT NOT NULL,             -- the rule that withdrew it, else ''
  detail TEXT NOT NULL,
  content_hash TEXT NOT NULL,     -- '' where there is no single key
  PRIMARY KEY (paper, number)
) STRICT, WITHOUT ROWID;

-- What a person decided about a row, by its content. The latest decision holds.
CREATE TABLE exam_decisions (
  id INTEGER PRIMARY KEY,
  content_hash TEXT NOT NULL,
  action TEXT NOT NULL CHECK (action IN ('withdraw', 'keep')),
  reason TEXT NOT NULL,
  decided_by TEXT NOT NULL,
  decided_at TEXT NOT NULL
) STRICT;
CREATE INDEX exam_decisions_hash ON exam_decisions(content_hash);
