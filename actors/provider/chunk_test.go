package provider

import (
	"encoding/json"
	"testing"

	"github.com/openai/openai-go/v3"
)

const chunkText = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"gpt","service_tier":"default","system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":" visitors"},"logprobs":null,"finish_reason":null}],"usage":null}`

// BenchmarkChunk compares the reading of a fragment with the library's type and with ours.
func BenchmarkChunk(b *testing.B) {
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			var chunk openai.ChatCompletionChunk
			if json.Unmarshal([]byte(chunkText), &chunk) != nil || chunk.Choices[0].Delta.Content != " visitors" {
				b.Fatal("not read")
			}
		}
	})
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			var chunk openaiChunk
			if json.Unmarshal([]byte(chunkText), &chunk) != nil || chunk.Choices[0].Delta.Content != " visitors" {
				b.Fatal("not read")
			}
		}
	})
}
