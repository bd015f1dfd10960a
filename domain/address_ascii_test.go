package domain

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

func TestASCIIAddress(t *testing.T) {
	for address, want := range map[string]string{
		"": "", "a": "a", "a@b.example": "a@b.example", "jo@müller.example": "jo@xn--mller-kva.example", "jö@müller.example": "jö@xn--mller-kva.example", `"a@ö"@ü.example`: `"a@ö"@xn--tda.example`,
	} {
		if got := ASCIIAddress(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

func TestASCIIURL(t *testing.T) {
	for address, want := range map[string]string{
		"": "", "https://x.example/a?b=c#d": "https://x.example/a?b=c#d", "https://x.example/a%2Fb?c=%C3%A9&d=+": "https://x.example/a%2Fb?c=%C3%A9&d=+",
		"https://x.example/straße/🙂?q=é#ü":  "https://x.example/stra%C3%9Fe/%F0%9F%99%82?q=%C3%A9#%C3%BC",
		"https://müller.example":            "https://xn--mller-kva.example",
		"https://ü:ö@müller.example:8080?é": "https://%C3%BC:%C3%B6@xn--mller-kva.example:8080?%C3%A9",
		"https://müller.example#ä@ö":        "https://xn--mller-kva.example#%C3%A4@%C3%B6",
		"https://x.example/a b\r\nc\x7f":    "https://x.example/a%20b%0D%0Ac%7F",
		"https://x.example/\xff":            "https://x.example/%FF",
		"mailto:jo@müller.example":          "mailto:jo@m%C3%BCller.example",
	} {
		if got := ASCIIURL(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
