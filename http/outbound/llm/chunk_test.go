package llm

import (
	stdjson "encoding/json"
	"testing"

	"github.com/segmentio/encoding/json"
)

const chunkText = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"gpt","service_tier":"default","system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":" visitors"},"logprobs":null,"finish_reason":null}],"usage":null}`

// BenchmarkChunk compares two decoders on a fragment of an answer.
func BenchmarkChunk(b *testing.B) {
	for name, unmarshal := range map[string]func([]byte, any) error{"standard": stdjson.Unmarshal, "segmentio": json.Unmarshal} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var chunk openaiChunk
				if unmarshal([]byte(chunkText), &chunk) != nil || chunk.Choices[0].Delta.Content != " visitors" {
					b.Fatal("not read")
				}
			}
		})
	}
}
