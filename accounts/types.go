package accounts

import (
	"time"

	"github.com/google/uuid"

	"ironhold/migrations/pg"
)

// Role is what a person or a token may do; see doc.go for the table.
type Role string

// The roles.
const (
	Customer Role = "customer"
	OrgAdmin Role = "org-admin"
	Sales    Role = "sales"
	Operator Role = "operator"
)

// Staff reports whether the role belongs to the hosting company and not to an organisation.
func (r Role) Staff() bool { return r == Sales || r == Operator }

// Org is an organisation, with the caps and the setting of its lock row.
type Org struct {
	ID              uuid.UUID  `db:"id"`
	Slug            string     `db:"slug"`
	Name            string     `db:"name"`
	MaxHolds        int        `db:"max_holds"`
	MaxMachines     int        `db:"max_machines"`
	Rollout         string     `db:"rollout"`
	SuspendedAt     *time.Time `db:"suspended_at"`
	SuspendedBy     string     `db:"suspended_by"` // as in pg.By
	SuspendedReason string     `db:"suspended_reason"`
}

// User is a person who signs in.
type User struct {
	ID         uuid.UUID  `db:"id"`
	OrgID      *uuid.UUID `db:"org_id"`
	Email      string     `db:"email"`
	Name       string     `db:"name"`
	Role       Role       `db:"role"`
	TimeZone   string     `db:"time_zone"`
	Language   string     `db:"language"`
	DisabledAt *time.Time `db:"disabled_at"`
	SignedInAt *time.Time `db:"signed_in_at"` // the last time; nil for never
}

// Actor is whoever makes a request: a signed-in user or a token. OrgID is zero for staff.
type Actor struct {
	Kind     string // "user" or "token"
	ID       uuid.UUID
	Name     string
	Email    string // users only
	Role     Role
	OrgID    uuid.UUID
	OrgSlug  string
	OrgName  string
	TimeZone string
	Language string
}

// By is the actor as the history records it.
func (a Actor) By(requestID string) pg.By {
	return pg.By{Actor: a.Kind + ":" + a.ID.String(), RequestID: requestID}
}
