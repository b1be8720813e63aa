package sign

import (
	"net/http"
	"testing"
	"time"
)

// FuzzVerify: nothing but what was signed is taken, whatever the headers say.
func FuzzVerify(f *testing.F) {
	secret := NewSecret()
	now := time.Unix(1_800_000_000, 0)
	h := http.Header{}
	Sign(h, "msg", now, []byte("body"), secret)
	f.Add(h.Get("Webhook-Id"), h.Get("Webhook-Timestamp"), h.Get("Webhook-Signature"))
	f.Add("", "", "")
	f.Add("msg", "1800000000", "v1,AAAA v1, v1a,x")
	f.Add("msg", "99999999999999999999", "v1,")
	f.Fuzz(func(t *testing.T, id, stamp, signature string) {
		got := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {signature}}
		if err := Verify(got, now, []byte("another body"), secret); err == nil {
			t.Fatalf("%q %q %q is taken for a body that nobody signed", id, stamp, signature)
		}
	})
}

// FuzzSecret: a secret that is read is written as it was.
func FuzzSecret(f *testing.F) {
	for _, s := range []string{NewSecret().Text(), "", "whsec_", "whsec_AAAA", "whsec_%%", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSecret(text)
		if err != nil {
			return
		}
		again, err := ParseSecret(s.Text())
		if err != nil || again.Text() != s.Text() {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
