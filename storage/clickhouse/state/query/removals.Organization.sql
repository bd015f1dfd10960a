-- Removes the uploaded chunks of an organization. Key: org.
ALTER TABLE upload_chunks DELETE WHERE org = {org:String}
