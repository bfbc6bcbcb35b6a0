-- A stage that asks a model (a generator, a judge) is a run like any other: its prompts are the run's items, without
-- options, and its responses are kept as every response is. Its readings are no scores, so it is not listed with them.
ALTER TABLE runs ADD COLUMN stage TEXT NOT NULL DEFAULT '';  -- '' for a benchmark; else who asked: draft, judge
ALTER TABLE runs ADD COLUMN asker TEXT NOT NULL DEFAULT '';  -- sha256 over model, backend, prompt, decoding, settings
CREATE INDEX runs_asker ON runs(asker) WHERE asker != '';

-- Who drafted or judged for a build. `asker` is the key under which the responses are found.
CREATE TABLE formosa_askers (
  build_id INTEGER NOT NULL REFERENCES formosa_builds(id),
  stage TEXT NOT NULL,            -- draft, judge
  asker TEXT NOT NULL,
  name TEXT NOT NULL,             -- the model's, without any path of this machine, and the beginning of the key
  identity TEXT NOT NULL,         -- JSON: what the key was made from
  PRIMARY KEY (build_id, stage, asker)
) STRICT, WITHOUT ROWID;

-- What became of a generator's response to a window. A well-formed one is a draft as well (its source is `source`).
CREATE TABLE formosa_generated (
  build_id INTEGER NOT NULL REFERENCES formosa_builds(id),
  source TEXT NOT NULL,           -- formosa_askers.name
  window_hash TEXT NOT NULL,
  prompt TEXT NOT NULL,           -- content hash of the prompt, under which the response is found
  fault TEXT NOT NULL,            -- '' for a well-formed draft, else its name
  detail TEXT NOT NULL,
  PRIMARY KEY (build_id, source, window_hash)
) STRICT, WITHOUT ROWID;

-- What a judge's response says of an item. NULL where it could not be read; `fault` then says why.
CREATE TABLE formosa_verdicts (
  draft_id INTEGER NOT NULL REFERENCES formosa_drafts(id),
  judge TEXT NOT NULL,            -- formosa_askers.asker
  content_hash TEXT NOT NULL,     -- of the item as it was judged: a verdict on another wording does not count
  prompt TEXT NOT NULL,
  supported INTEGER,
  single_answer INTEGER,
  reason TEXT NOT NULL,
  fault TEXT NOT NULL,
  PRIMARY KEY (draft_id, judge)
) STRICT, WITHOUT ROWID;

-- What a judge made of planted defects and of clean items. The newest line of a judge counts.
CREATE TABLE formosa_calibrations (
  id INTEGER PRIMARY KEY,
  judge TEXT NOT NULL,            -- formosa_askers.asker
  build_id INTEGER NOT NULL REFERENCES formosa_builds(id),  -- whose items were planted with defects
  made TEXT NOT NULL,             -- UTC, ISO 8601
  passed INTEGER NOT NULL,
  report TEXT NOT NULL            -- JSON
) STRICT;
CREATE INDEX formosa_calibrations_judge ON formosa_calibrations(judge);
