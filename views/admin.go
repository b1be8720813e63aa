package views

import (
	"context"
	"time"
)

// OrgsPage lists every organisation.
type OrgsPage struct {
	Items                             []OrgRow
	CanAdd                            bool
	Faults                            []Fault
	Slug, Name, MaxHolds, MaxMachines string // as typed
}

// OrgRow is one organisation with its use.
type OrgRow struct {
	Slug, Name, Rollout   string
	MaxHolds, MaxMachines int
	Live, Active          int
	Suspended             bool
}

// StaffOrgPage is one organisation for staff.
type StaffOrgPage struct {
	OrgRow
	SuspendedAt                  *time.Time
	SuspendedBy, SuspendedReason string
	Effective                    bool
	Why                          string
	People                       []PersonRow
	CanLimits, CanSuspend        bool
	CanPeople                    bool
	FormHolds, FormMachines      string // as typed
	Reason                       string
	Faults                       []Fault
	Notes                        *Notes
	Events                       []HistoryRow // what happened to it, but for orders
}

// hasAdmin reports whether somebody can look after the members.
func (m StaffOrgPage) hasAdmin() bool {
	for _, p := range m.People {
		if p.Role == "org-admin" && !p.Disabled {
			return true
		}
	}
	return false
}

// ChecksPage are the invariants.
type ChecksPage struct {
	BehindProxy bool // requests come through a proxy that is not trusted
	AsOf        time.Time
	Violated    int
	Items       []CheckRow
}

// CheckRow is one invariant.
type CheckRow struct {
	Name, Description string
	Violations        int
	Examples          []string
}

// ImportPage takes in a file.
type ImportPage struct {
	MaxMB              int
	Faults             []Fault
	Upload, Hash, Name string
	Until              time.Time
	Report             *ImportReport
	Done               bool
}

// ImportReport counts the rows of a file.
type ImportReport struct {
	Added, Changed, Unchanged int
	Refused, Warned           int
	Refusals, Warnings        []ImportNotice // the first of them
}

// ImportNotice is about one line.
type ImportNotice struct {
	Line   int
	Reason string
}

// ClassesPage is the stock by class.
type ClassesPage struct {
	Sites []Option
	Items []BoardRow
	Pager
}

func (m ClassesPage) wrong() bool {
	for _, b := range m.Items {
		if b.wrong() {
			return true
		}
	}
	return false
}

func adminParts(ctx context.Context, here string) []Tab {
	out := []Tab{{t(ctx, "admin.orgs"), "/admin/orgs", here == "orgs"}}
	if person(ctx).Can.Launch {
		out = append(out, Tab{t(ctx, "people.title"), "/admin/people", here == "people"}, Tab{t(ctx, "admin.launch"), "/admin/rollout", here == "launch"}, Tab{t(ctx, "admin.checks"), "/admin/checks", here == "checks"}, Tab{t(ctx, "admin.health"), "/admin/health", here == "health"},
			Tab{t(ctx, "admin.mails"), "/admin/mail", here == "mails"}, Tab{t(ctx, "admin.jobs"), "/admin/jobs/", false})
	}
	return out
}
