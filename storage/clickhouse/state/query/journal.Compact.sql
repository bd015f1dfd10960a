-- Rewrites the journal without what was removed, which every scan passes by until then.
OPTIMIZE TABLE journal
