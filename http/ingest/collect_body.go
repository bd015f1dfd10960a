package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"svc/domain"
	"svc/domain/event"
)

// weight is the memory of a decoded body, as a multiple of the inflated length.
type weight int64

// The weights of protocols, as measured by their tests.
const (
	nativeWeight weight = 4
	sentryWeight weight = 4
	otlpWeight   weight = 16
	remoteWeight weight = 12
)

// readBody reads the body within a limit and inflates it within another. Afterwards the request holds a processor.
func (sub *submission) readBody(limit int64, w weight) error {
	if err := sub.readRaw(limit); err != nil {
		return err
	}
	return sub.unpack(w)
}

// A body reserves the bytes that have arrived and as many again, leastStep at least and rawStep at most. A slow body
// therefore holds little of the memory for bodies.
const leastStep, rawStep = 4 << 10, 64 << 10

// readRaw reads the body, or the rest of it, within a limit.
func (sub *submission) readRaw(limit int64) error {
	if sub.request.ContentLength > limit {
		return tooLarge("The body is over %d bytes.", limit)
	}
	for more := true; more; {
		var err error
		if more, err = sub.readSome(limit); err != nil {
			return err
		}
	}
	return nil
}

// readSome reads the next bytes of the body and reports whether there may be more.
func (sub *submission) readSome(limit int64) (more bool, err error) {
	arrived := int64(sub.raw.Len())
	if arrived > 0 && (sub.collector == nil || sub.collector.Kind == domain.KeyPublic) {
		if err := sub.reserved.BoundBody(sub.collect.Proxies.of(sub.request)); err != nil {
			return false, err
		}
	}
	step := min(max(leastStep, arrived), rawStep, limit+1-arrived)
	expected := step
	if sub.request.ContentLength >= 0 {
		expected = min(step, sub.request.ContentLength-arrived)
	}
	if err := sub.reserved.ForBody(sub.request.Context(), expected); err != nil {
		return false, err
	}
	sub.limited = io.LimitedReader{R: sub.request.Body, N: step}
	if _, err := sub.raw.ReadFrom(&sub.limited); err != nil {
		return false, domain.Invalid(domain.FieldError{Code: "unreadable_body", Message: "The body ended early."})
	}
	if int64(sub.raw.Len()) > limit {
		return false, tooLarge("The body is over %d bytes.", limit)
	}
	sub.body = sub.raw.Bytes()
	return sub.limited.N <= 0, nil
}

func tooLarge(format string, args ...any) error {
	return domain.Errorf(domain.CodeTooLarge, format, args...)
}

// A body below smallBody costs too little to wait for a processor. The items of a small body take itemsShare times its
// bytes, itemsBytes at most.
const (
	smallBody  = 16 << 10
	itemsShare = 32
	itemsBytes = 1 << 20
)

// unpack reserves the memory to decode the request, and undoes the content encoding.
func (sub *submission) unpack(w weight) error {
	size, window := sub.unpackedSize()
	taken := (int64(w)+1)*size + window + min(itemsShare*size, itemsBytes)
	if err := sub.reserved.ForWork(sub.request.Context(), taken, size > smallBody); err != nil {
		return err
	}
	inflated, err := sub.inflate(int(size), w, event.MaxInflatedBytes)
	if err == nil && inflated != nil {
		sub.body = inflated
	}
	return err
}

// unpackedSize returns the inflated length of the body, and the memory of its reader. The length comes from the body,
// or it is a guess.
func (sub *submission) unpackedSize() (size, window int64) {
	const usual = 8
	size = int64(len(sub.body))
	switch sub.encoding() {
	case "":
		return size, 0
	case "gzip":
		if len(sub.body) > 4 {
			size = max(size, int64(binary.LittleEndian.Uint32(sub.body[len(sub.body)-4:])))
		}
	case "zstd":
		size, window = usual*size, zstdWindow
		var header zstd.Header
		if header.Decode(sub.body[:min(len(sub.body), zstd.HeaderMaxSize)]) == nil {
			window = int64(min(header.WindowSize, zstdWindow))
			if header.HasFCS {
				size = int64(min(header.FrameContentSize, event.MaxInflatedBytes))
			}
		}
	case "br":
		size, window = usual*size, brotliWindow
	default:
		size *= usual
	}
	return min(size, event.MaxInflatedBytes), window
}

// The windows of the readers.
const (
	zstdWindow   = 8 << 20
	brotliWindow = 16 << 20
)

// encoding returns the content encoding, empty without one. It also detects a gzip body by its first bytes, since some
// clients do not name the encoding.
func (sub *submission) encoding() string {
	encoding := headerOf(sub.request, "Content-Encoding")
	isGzip := len(sub.body) > 2 && sub.body[0] == 0x1f && sub.body[1] == 0x8b
	switch {
	case encoding == "x-gzip", (encoding == "" || encoding == "identity") && isGzip:
		return "gzip"
	case encoding == "identity":
		return ""
	}
	return encoding
}

// inflater returns the reader that undoes the content encoding, nil without an encoding.
func (sub *submission) inflater() (io.ReadCloser, error) {
	packed := bytes.NewReader(sub.body)
	switch encoding := sub.encoding(); encoding {
	case "":
		return nil, nil
	case "gzip":
		if unzip, err := gzip.NewReader(packed); err == nil {
			return unzip, nil
		}
		return nil, badEncoding("gzip")
	case "zstd":
		unzip, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(event.MaxInflatedBytes), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, badEncoding("zstd")
		}
		return unzip.IOReadCloser(), nil
	case "deflate":
		unzip, err := zlib.NewReader(packed)
		if err != nil {
			return nil, badEncoding("deflate")
		}
		return unzip, nil
	case "br":
		return io.NopCloser(brotli.NewReader(packed)), nil
	default:
		return nil, domain.Errorf(domain.CodeUnsupportedMedia, "The content encoding %q is not accepted; send gzip, zstd, br, deflate or none.", encoding)
	}
}

// inflate undoes the content encoding within a limit. Memory was reserved for a body of size bytes; inflate reserves
// more for a longer one. It returns nil if there is no encoding.
func (sub *submission) inflate(size int, w weight, limit int) ([]byte, error) {
	reader, err := sub.inflater()
	if reader == nil || err != nil {
		return nil, err
	}
	defer reader.Close()
	out := sub.inflated[:0]
	for {
		if len(out) == cap(out) {
			larger := min(max(2*cap(out), size+1, rawStep), limit+1)
			if over := larger - max(size+1, cap(out)); over > 0 {
				if err := sub.reserved.Grow((int64(w) + 1) * int64(over)); err != nil {
					return nil, err
				}
			}
			out = append(make([]byte, 0, larger), out...)
		}
		n, err := reader.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		sub.inflated = out
		switch {
		case len(out) > limit, errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
			return out, tooLarge("The body inflates to more than %d bytes.", limit)
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, badEncoding(sub.encoding())
		}
	}
}

func badEncoding(name string) error {
	return domain.Invalid(domain.FieldError{Code: "invalid_encoding", Message: "The body is not valid " + name + "."})
}
