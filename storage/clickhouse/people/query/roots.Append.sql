-- Stores roots. It may be repeated.
INSERT INTO roots (environment, visitor, root, edges)
