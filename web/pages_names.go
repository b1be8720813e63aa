package web

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/views/i18n"
)

// names turns actors of the history into words for whoever looks: members of an organisation see
// each other's names, staff see everybody's, and nobody else learns who of the staff it was.
type names struct {
	s       *server
	viewer  accounts.Actor
	members map[string]string // of the viewer's organisation, by id
	asked   map[string]string
}

func (s *server) namesFor(ctx context.Context, viewer accounts.Actor) (*names, error) {
	n := &names{s: s, viewer: viewer, asked: map[string]string{}}
	if viewer.Role.Staff() {
		return n, nil
	}
	users, err := s.Accounts.Users(ctx, viewer.OrgID)
	if err != nil {
		return nil, err
	}
	n.members = make(map[string]string, len(users))
	for _, u := range users {
		n.members[u.ID.String()] = u.Name
	}
	return n, nil
}

// of is the name of "user:<id>", "token:<id>", "command:<name>" and the system's own parts.
func (n *names) of(ctx context.Context, actor string) string {
	kind, id, _ := strings.Cut(actor, ":")
	switch kind {
	case "":
		return ""
	case "user":
		return n.user(ctx, id)
	case "sweep", "command", "database", "token", "webhooks", "visitor", "provisioning", "planned":
		return i18n.T(ctx, "actor."+kind)
	}
	if n.viewer.Role.Staff() {
		return actor
	}
	return i18n.T(ctx, "actor.staff")
}

func (n *names) user(ctx context.Context, id string) string {
	if !n.viewer.Role.Staff() {
		if name, ok := n.members[id]; ok {
			return name
		}
		return i18n.T(ctx, "actor.staff")
	}
	if name, ok := n.asked[id]; ok {
		return name
	}
	name := i18n.T(ctx, "actor.someone")
	if key, err := uuid.Parse(id); err == nil {
		if u, err := n.s.Accounts.UserByID(ctx, key); err == nil {
			name = u.Name
		}
	}
	n.asked[id] = name
	return name
}
