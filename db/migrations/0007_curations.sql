-- A difficulty band that was frozen: which items of a build a pool of models finds hard, on a date. It is never changed;
-- another pool, date or band is another one.
CREATE TABLE formosa_curations (
  id INTEGER PRIMARY KEY,
  build_id INTEGER NOT NULL REFERENCES formosa_builds(id),
  name TEXT NOT NULL,
  manifest TEXT NOT NULL,         -- JSON, as curation.json holds it
  difficulty TEXT NOT NULL,       -- JSON Lines, as difficulty.jsonl holds them: a line an item, in the band or not
  UNIQUE (build_id, name)
) STRICT;
