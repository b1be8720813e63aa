package accounts

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// Argon2id's costs: about 40 ms and 19 MiB for a check.
const (
	argonTime    = 2
	argonMemory  = 19456 // KiB
	argonThreads = 1
	saltBytes    = 16
	keyBytes     = 32
)

// Lengths of a password, in characters. Nothing else is asked of it, and nothing is cut off.
const (
	MinPassword = 12
	MaxPassword = 200
)

// normalPassword makes equal what keyboards type differently.
func normalPassword(password string) string { return norm.NFKC.String(password) }

func checkPassword(password string) error {
	n := utf8.RuneCountInString(normalPassword(password))
	if !utf8.ValidString(password) || n < MinPassword || n > MaxPassword {
		return &Invalid{"password", fmt.Sprintf("%d to %d characters, any characters", MinPassword, MaxPassword)}
	}
	return nil
}

// phc is a parsed hash in the PHC string format.
type phc struct {
	time, memory uint32
	threads      uint8
	salt, key    []byte
}

func (h phc) String() string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.time, h.threads,
		b64.EncodeToString(h.salt), b64.EncodeToString(h.key))
}

// parsePHC reads what String writes. Costs beyond four times ours are not ours: they are refused,
// so that a row can not ask for any amount of memory.
func parsePHC(s string) (h phc, ok bool) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return h, false
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); err != nil {
		return h, false
	}
	if h.time < 1 || h.time > 4*argonTime || h.memory < 8 || h.memory > 4*argonMemory || h.threads < 1 || h.threads > 4 {
		return h, false
	}
	var err error
	if h.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil || len(h.salt) < 8 {
		return h, false
	}
	if h.key, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(h.key) < 16 || len(h.key) > 64 {
		return h, false
	}
	return h, true
}

func newPHC() phc {
	h := phc{time: argonTime, memory: argonMemory, threads: argonThreads, salt: make([]byte, saltBytes), key: make([]byte, keyBytes)}
	_, _ = rand.Read(h.salt) // never fails, by its contract
	return h
}

// hash makes the string that is stored.
func (d *Directory) hash(ctx context.Context, password string) (string, error) {
	h := newPHC()
	err := d.inTurn(ctx, func() error {
		h.key = h.derive(password)
		return nil
	})
	return h.String(), err
}

// matches takes the same time whether stored is a hash or nothing at all. The caller has its turn.
func matches(stored, password string) bool {
	h, ok := parsePHC(stored)
	if !ok {
		h = newPHC()
		_, _ = rand.Read(h.key) // a key that no password has
	}
	return subtle.ConstantTimeCompare(h.derive(password), h.key) == 1 && ok
}

func (h phc) derive(password string) []byte {
	return argon2.IDKey([]byte(normalPassword(password)), h.salt, h.time, h.memory, h.threads, uint32(len(h.key))) //nolint:gosec // 16 to 64
}

// inTurn runs f when one of the places for password checks is free.
func (d *Directory) inTurn(ctx context.Context, f func() error) error {
	select {
	case d.hashing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("password checks are all in use: %w", ctx.Err())
	}
	defer func() { <-d.hashing }()
	return f()
}
