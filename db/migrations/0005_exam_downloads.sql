-- What `exam fetch` downloaded for a build, and what it could not.
CREATE TABLE exam_downloads (
  url TEXT PRIMARY KEY,
  path TEXT NOT NULL,             -- of the file, relative to the folder it was fetched to
  state TEXT NOT NULL CHECK (state IN ('done', 'failed')),
  reason TEXT NOT NULL,           -- why it failed, else ''
  attempts INTEGER NOT NULL,      -- requests made for it in all
  sha256 TEXT NOT NULL,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
