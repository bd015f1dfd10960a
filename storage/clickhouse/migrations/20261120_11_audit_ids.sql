-- What tells audit rows apart: a crash may leave one of them twice, under its one id.
ALTER TABLE audit ADD COLUMN IF NOT EXISTS id String CODEC(ZSTD(1)) AFTER at;
