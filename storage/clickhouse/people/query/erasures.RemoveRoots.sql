-- Removes the notes of whom some visitors stand for. Key: environment; a part without such a row stays.
ALTER TABLE roots DELETE WHERE environment = {environment:UInt64} AND root IN {roots:Array(UInt64)}
