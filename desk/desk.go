package desk

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/allocator"
	"ironhold/migrations/pg"
)

// MaxText is the longest note, in characters.
const MaxText = 2000

// Desk reads and writes what staff write down.
type Desk struct {
	db        pg.DB
	allocator *allocator.Allocator
}

// New makes a desk on a pool, or on a transaction in tests.
func New(db pg.DB, a *allocator.Allocator) *Desk { return &Desk{db: db, allocator: a} }

// Invalid says which field cannot be taken, and what is allowed.
type Invalid struct{ Field, Message string }

func (e *Invalid) Error() string { return e.Field + " " + e.Message }

// NotFound says that there is no such thing.
type NotFound struct{ ID uuid.UUID }

func (e *NotFound) Error() string { return "nothing has the identifier " + e.ID.String() }

func (d *Desk) read(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pg.Engine(ctx, d.db, pg.By{}, f)
}

// cleanText trims a text and says what is wrong with it.
func cleanText(field, text string, required bool) (string, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	switch {
	case text == "" && required:
		return "", &Invalid{field, "is required"}
	case !utf8.ValidString(text):
		return "", &Invalid{field, "must be UTF-8 text"}
	case utf8.RuneCountInString(text) > MaxText:
		return "", &Invalid{field, fmt.Sprintf("has %d characters; at most %d are allowed", utf8.RuneCountInString(text), MaxText)}
	case strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }):
		return "", &Invalid{field, "contains control characters; text is allowed"}
	}
	return text, nil
}
