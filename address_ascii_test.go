package svc

import (
	"strings"
	"testing"
)

func TestASCIIHost(t *testing.T) {
	for host, want := range map[string]string{
		"": "", "example.com": "example.com", "Example.COM": "Example.COM", "müller.example": "xn--mller-kva.example", "BÜCHER.example": "xn--bcher-kva.example",
		"пример.испытание": "xn--e1afmkfd.xn--80akhbyknj4f", "例え。テスト": "xn--r8jz45g.xn--zckzah", "παράδειγμα.δοκιμή": "xn--hxajbheg2az3al.xn--jxalpdlp",
		"他们为什么不说中文.example": "xn--ihqwcrb4cv8a8dqg056pqjye.example", "3年b組金八先生.jp": "xn--3b-ww4c5e180e575a65lsy2b.jp", "a.ü": "a.xn--tda", "\xff.example": "\xff.example",
	} {
		if got := ASCIIHost(host); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
	for _, long := range []string{strings.Repeat("ü", 1<<16), strings.Repeat("ü.", 1<<15)} {
		if got := ASCIIHost(long); got != long {
			t.Errorf("a host of %d bytes becomes one of %d", len(long), len(got))
		}
	}
}
