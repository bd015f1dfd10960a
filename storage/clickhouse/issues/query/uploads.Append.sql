-- Pieces of uploads. The rows follow.
INSERT INTO upload_chunks (org, sha1, at, content, bytes, released)
