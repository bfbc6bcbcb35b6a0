-- Where the tokens of a response end, of engines that tell it: so that what a smaller budget would have left can be read
-- instead of generated again.
CREATE TABLE token_sizes (
  run_id INTEGER NOT NULL,
  no INTEGER NOT NULL,
  repeat INTEGER NOT NULL,
  sizes BLOB NOT NULL,            -- UTF-8 bytes of the text by written token: 16 bits each, little-endian, zlib
  PRIMARY KEY (run_id, no, repeat),
  FOREIGN KEY (run_id, no, repeat) REFERENCES responses(run_id, no, repeat)
) STRICT;
