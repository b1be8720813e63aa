package accounts_test

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
)

func TestTokens(t *testing.T) {
	f := setup(t)
	token := must(f.dir.AddToken(f.ctx, by, "ci", accounts.OrgAdmin, "acme"))(t)
	if !strings.HasPrefix(token, "ih_") || len(token) != 46 {
		t.Errorf("token %q", token)
	}
	actor := must(f.dir.ActorOfToken(f.ctx, token))(t)
	if actor.Kind != "token" || actor.Role != accounts.OrgAdmin || actor.OrgID != f.org.ID || actor.OrgSlug != "acme" || actor.Name != "ci" {
		t.Errorf("got %+v", actor)
	}
	var stored []byte
	var createdBy string
	if err := f.db.QueryRow(f.ctx, "select hash, created_by from api_tokens").Scan(&stored, &createdBy); err != nil {
		t.Fatal(err)
	}
	if want := sha256.Sum256([]byte(token)); !bytes.Equal(stored, want[:]) || createdBy != by.Actor {
		t.Errorf("stored %x by %q", stored, createdBy)
	}
	for _, wrong := range []string{"", "ih_", token[:45], token + "A", "ih_" + strings.Repeat("A", 43), strings.ToUpper(token), "xx_" + token[3:]} {
		_, err := f.dir.ActorOfToken(f.ctx, wrong)
		wantUnauthenticated(t, err)
	}
	if err := f.dir.RevokeToken(f.ctx, by, uuid.Nil, actor.ID); !isNotFound(err) {
		t.Errorf("another's token: %v", err)
	}
	for range 2 {
		if err := f.dir.RevokeToken(f.ctx, by, f.org.ID, actor.ID); err != nil {
			t.Fatal(err)
		}
	}
	_, err := f.dir.ActorOfToken(f.ctx, token)
	wantUnauthenticated(t, err)
	list := must(f.dir.Tokens(f.ctx, f.org.ID))(t)
	if len(list) != 1 || list[0].RevokedAt == nil || list[0].LastUsedAt == nil {
		t.Errorf("got %+v", list)
	}
}

func TestAddTokenNamesTheBadField(t *testing.T) {
	f := setup(t)
	for _, c := range []struct {
		name, org string
		role      accounts.Role
		field     string
	}{
		{"", "acme", accounts.Customer, "name"},
		{"x", "", accounts.Customer, "org"},
		{"x", "acme", accounts.Operator, "org"},
		{"x", "acme", "king", "role"},
	} {
		_, err := f.dir.AddToken(f.ctx, by, c.name, c.role, c.org)
		wantInvalid(t, err, c.field)
	}
	if _, err := f.dir.AddToken(f.ctx, by, "x", accounts.Customer, "nobody"); !isNotFound(err) {
		t.Errorf("got %v", err)
	}
}

func TestLastUseIsWrittenOnceAMinute(t *testing.T) {
	f := setup(t)
	token := must(f.dir.AddToken(f.ctx, by, "ci", accounts.Sales, ""))(t)
	used := func() (at time.Time, version string) {
		if err := f.db.QueryRow(f.ctx, "select last_used_at, xmin::text from api_tokens").Scan(&at, &version); err != nil {
			t.Fatal(err)
		}
		return at, version
	}
	must(f.dir.ActorOfToken(f.ctx, token))(t)
	_, first := used()
	must(f.dir.ActorOfToken(f.ctx, token))(t)
	if _, second := used(); second != first {
		t.Error("written twice within a minute")
	}
	if _, err := f.db.Exec(f.ctx, "update api_tokens set last_used_at = last_used_at - interval '61 seconds'"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := f.dir.ActorOfToken(f.ctx, token); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if at, _ := used(); time.Since(at) > 30*time.Second {
		t.Errorf("not written after a minute: %s", at)
	}
	// Whoever holds the row's lock does not hold requests up.
	if _, err := f.db.Exec(f.ctx, "update api_tokens set last_used_at = null"); err != nil {
		t.Fatal(err)
	}
	tx, err := f.db.Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(f.ctx)
	if _, err := tx.Exec(f.ctx, "select from api_tokens for no key update"); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	must(f.dir.ActorOfToken(f.ctx, token))(t)
	if d := time.Since(begun); d > time.Second {
		t.Errorf("waited %s for a lock", d)
	}
}
