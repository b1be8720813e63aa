package sign_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	independent "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"ironhold/notify/sign"
)

var now = time.Now()

// A public library of the specification reads what we sign, during and after a change of the secret.
func TestSignedIsVerifiedByAnother(t *testing.T) {
	t.Parallel()
	fresh, old, foreign := sign.NewSecret(), sign.NewSecret(), sign.NewSecret()
	body := []byte(`{"a":"ä"}`)
	for _, c := range []struct {
		name    string
		with    []sign.Secret
		by      sign.Secret
		body    string
		at      time.Time
		accepts bool
	}{
		{"one secret", []sign.Secret{fresh}, fresh, string(body), now, true},
		{"the new of two", []sign.Secret{fresh, old}, fresh, string(body), now, true},
		{"the old of two", []sign.Secret{fresh, old}, old, string(body), now, true},
		{"neither", []sign.Secret{fresh, old}, foreign, string(body), now, false},
		{"another body", []sign.Secret{fresh}, fresh, `{"a":"b"}`, now, false},
		{"too old", []sign.Secret{fresh}, fresh, string(body), now.Add(-6 * time.Minute), false},
		{"from the future", []sign.Secret{fresh}, fresh, string(body), now.Add(6 * time.Minute), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			sign.Sign(h, "0196-id", c.at, body, c.with...)
			other, err := independent.NewWebhook(c.by.Text())
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Verify([]byte(c.body), h); (err == nil) != c.accepts {
				t.Errorf("the public library says %v", err)
			}
			if err := sign.Verify(h, now, []byte(c.body), c.by); (err == nil) != c.accepts {
				t.Errorf("we say %v", err)
			}
		})
	}
}

func TestVerifyReadsWhatAnotherSigned(t *testing.T) {
	t.Parallel()
	s := sign.NewSecret()
	other, err := independent.NewWebhook(s.Text())
	if err != nil {
		t.Fatal(err)
	}
	signature, err := other.Sign("id-1", now, []byte("body"))
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	h.Set(sign.HeaderID, "id-1")
	h.Set(sign.HeaderTimestamp, fmt.Sprint(now.Unix()))
	h.Set(sign.HeaderSignature, "v2,else v1,!!! "+signature)
	if err := sign.Verify(h, now, []byte("body"), s); err != nil {
		t.Error(err)
	}
	h.Del(sign.HeaderTimestamp)
	if err := sign.Verify(h, now, []byte("body"), s); !errors.Is(err, sign.ErrMissing) {
		t.Errorf("without a timestamp: %v", err)
	}
}

func TestSecretsHideThemselves(t *testing.T) {
	t.Parallel()
	s := sign.NewSecret()
	back, err := sign.ParseSecret(s.Text())
	if err != nil || string(back) != string(s) {
		t.Fatalf("read back: %v", err)
	}
	for _, shown := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s", s, s, s, s)} {
		if strings.Contains(shown, strings.TrimPrefix(s.Text(), "whsec_")) {
			t.Errorf("shown as %s", shown)
		}
	}
	for _, text := range []string{"", "whsec_", "whsec_c2hvcnQ=", "whsec_***"} {
		if _, err := sign.ParseSecret(text); !errors.Is(err, sign.ErrSecret) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestBodyIsACloudEvent(t *testing.T) {
	t.Parallel()
	e := sign.Event{ID: "i", Source: "https://portal.example", Type: "ironhold.hold.held", Subject: "holds/1", Time: now, Sequence: 12, Data: json.RawMessage(`{"n":1}`)}
	body, err := e.Body()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"specversion": "1.0", "id": "i", "source": "https://portal.example", "type": "ironhold.hold.held", "subject": "holds/1",
		"sequence": "0000000012", "datacontenttype": "application/json", "time": now.UTC().Format(time.RFC3339Nano),
	} {
		if got[name] != want {
			t.Errorf("%s is %v, not %v", name, got[name], want)
		}
	}
}
