package ingest

// chunkTerms tells a build tool how to send pieces.
type chunkTerms struct {
	URL              string   `json:"url"`
	ChunkSize        int      `json:"chunkSize"`
	ChunksPerRequest int      `json:"chunksPerRequest"`
	MaxFileSize      int      `json:"maxFileSize"`
	MaxRequestSize   int      `json:"maxRequestSize"`
	Concurrency      int      `json:"concurrency"`
	HashAlgorithm    string   `json:"hashAlgorithm"`
	Compression      []string `json:"compression"`
	Accept           []string `json:"accept"`
}

// assembleSpec lists the chunks that make up a file.
type assembleSpec struct {
	Checksum string   `json:"checksum" doc:"SHA-1 of the whole bundle."`
	Chunks   []string `json:"chunks" doc:"SHA-1 of its pieces, in order."`
	Projects []string `json:"projects" doc:"Slugs of applications."`
	Version  string   `json:"version" doc:"The release."`
	Dist     string   `json:"dist"`
}

// assembled is the state of an upload.
type assembled struct {
	State         string   `json:"state" enum:"not_found,ok,error"`
	MissingChunks []string `json:"missingChunks"`
	Detail        *string  `json:"detail"`
}

type uploadPath struct {
	Org string `path:"org" doc:"The organization's slug."`
}

type assembleInput struct {
	uploadPath
	Body assembleSpec `body:"json"`
}
