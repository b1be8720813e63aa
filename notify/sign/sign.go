package sign

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Names of the headers.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Tolerance is how far a timestamp may be from the receiver's clock.
const Tolerance = 5 * time.Minute

// Sizes of secrets in bytes: those that we make, and the bounds of the specification.
const (
	secretSize = 32
	minSecret  = 24
	maxSecret  = 64
)

const prefix = "whsec_"

// Secret is the key that both sides know. It does not show itself in logs; Text does.
type Secret []byte

// NewSecret makes a random one.
func NewSecret() Secret {
	s := make(Secret, secretSize)
	_, _ = rand.Read(s) // never fails, by its contract
	return s
}

// ErrSecret says that a text is no secret: whsec_ and the base64 of 24 to 64 bytes.
var ErrSecret = errors.New("not a secret such as whsec_ and the base64 of 24 to 64 bytes")

// ParseSecret reads what Text wrote.
func ParseSecret(text string) (Secret, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, prefix))
	if err != nil || len(b) < minSecret || len(b) > maxSecret {
		return nil, ErrSecret
	}
	return b, nil
}

// Text is the form in which a secret is given to the receiver.
func (s Secret) Text() string { return prefix + base64.StdEncoding.EncodeToString(s) }

// String hides the secret.
func (s Secret) String() string { return prefix + "..." }

// GoString hides the secret.
func (s Secret) GoString() string { return s.String() }

// Sign sets the headers of one attempt; the first secret is the newest.
func Sign(h http.Header, id string, at time.Time, body []byte, secrets ...Secret) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, 0, len(secrets))
	for _, s := range secrets {
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(s.sum(id, stamp, body)))
	}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, stamp)
	h.Set(HeaderSignature, strings.Join(signatures, " "))
}

func (s Secret) sum(id, stamp string, body []byte) []byte {
	m := hmac.New(sha256.New, s)
	_, _ = m.Write([]byte(id + "." + stamp + ".")) // a hash never fails to write
	_, _ = m.Write(body)
	return m.Sum(nil)
}

// Errors of Verify.
var (
	ErrMissing   = errors.New("a header of the signature is missing or malformed")
	ErrTimestamp = errors.New("the timestamp is too far from now")
	ErrSignature = errors.New("no signature fits")
)

// Verify checks a received message: whether one of its signatures was made with one of the secrets, and
// not longer than Tolerance ago. Who acts on messages must also remember the ids, since the same message
// may be sent again.
func Verify(h http.Header, now time.Time, body []byte, secrets ...Secret) error {
	id, stamp := h.Get(HeaderID), h.Get(HeaderTimestamp)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if id == "" || err != nil {
		return ErrMissing
	}
	if d := now.Sub(time.Unix(seconds, 0)); d > Tolerance || d < -Tolerance {
		return ErrTimestamp
	}
	for given := range strings.FieldsSeq(h.Get(HeaderSignature)) {
		text, ok := strings.CutPrefix(given, "v1,")
		if !ok {
			continue
		}
		got, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			continue
		}
		for _, s := range secrets {
			if hmac.Equal(got, s.sum(id, stamp, body)) {
				return nil
			}
		}
	}
	return ErrSignature
}
