package allocator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/fleet"
	"ironhold/holds"
	"ironhold/migrations/pg"
)

// part is the share of one operation in a pair.
type part struct {
	*stage
	second bool   // it is the second of the pair by name, whatever the order in time
	tag    string // the machine that it is about
	org    string // the organisation whose settings it changes
	hold   *uuid.UUID
}

// operations answer with one word: what a person would be told.
var operations = map[string]func(ctx context.Context, p *part) string{
	"claim": func(ctx context.Context, p *part) string {
		org := "two"
		if p.second {
			org = "three"
		}
		return p.claim(ctx, org, "first")
	},
	// The same organisation orders the same machine, with another key.
	"claim-again": func(ctx context.Context, p *part) string { return p.claim(ctx, "two", "second") },
	// The same request, sent once more.
	"claim-repeat": func(ctx context.Context, p *part) string { return p.claim(ctx, "two", "first") },
	"extend": func(ctx context.Context, p *part) string {
		key := "extension"
		if p.second {
			key = "another"
		}
		_, err := p.book.Extend(ctx, actor, one(p), uuid.MustParse(sceneHold), key)
		return word("ok", err)
	},
	"convert": func(ctx context.Context, p *part) string {
		_, created, err := p.book.Convert(ctx, actor, one(p), uuid.MustParse(sceneHold))
		if err == nil && !created {
			return "again"
		}
		return word("ok", err)
	},
	"cancel": func(ctx context.Context, p *part) string {
		h, err := p.book.Cancel(ctx, actor, one(p), uuid.MustParse(sceneHold), "test")
		return word(string(h.State), err)
	},
	"sweep": func(ctx context.Context, p *part) string {
		n, err := p.book.Sweep(ctx)
		return word(fmt.Sprint("swept", n), err)
	},
	"withdraw": func(ctx context.Context, p *part) string { return p.status(ctx, fleet.Maintenance) },
	"retire":   func(ctx context.Context, p *part) string { return p.status(ctx, fleet.Retired) },
	"substitute": func(ctx context.Context, p *part) string {
		h, err := p.book.Substitute(ctx, actor, one(p), uuid.MustParse(sceneHold))
		if err == nil {
			p.hold = &h.ID
		}
		return word(h.AssetTag, err)
	},
	"end": func(ctx context.Context, p *part) string {
		all, err := p.book.ListServices(ctx, holds.Filter{Scope: one(p), Limit: 2})
		if err != nil || len(all) == 0 {
			return word("none", err)
		}
		v, err := p.book.EndService(ctx, actor, one(p), all[0].ID, "test")
		if err == nil && v.EndedAt == nil {
			return "not ended"
		}
		return word("ended", err)
	},
	"wipe": func(ctx context.Context, p *part) string {
		m, err := p.fleet.Wiped(ctx, actor, p.tag, "test")
		return word(string(m.Status), err)
	},
	"off": func(ctx context.Context, p *part) string {
		_, err := p.orgs.SetRollout(ctx, actor, p.stage.org[p.org], "off")
		return word("ok", err)
	},
	"launch": func(ctx context.Context, p *part) string {
		_, err := p.roll.SetLaunch(ctx, actor, "off")
		return word("ok", err)
	},
	"cap": func(ctx context.Context, p *part) string {
		_, err := p.orgs.SetLimits(ctx, actor, p.org, 0, 50)
		return word("ok", err)
	},
	"import": func(ctx context.Context, p *part) string {
		r, err := p.fleet.Import(ctx, actor, strings.NewReader("asset_tag,site,cpu,cores,ram_gb,price_month_eur\n"+
			p.tag+",SITE1,AMD EPYC 7302P,8,64,50.00\n"), fleet.ImportOptions{})
		switch {
		case err != nil:
			return word("", err)
		case r.Changed == 1:
			return "changed"
		case r.Unchanged == 1:
			return "unchanged"
		}
		return fmt.Sprintf("%+v", r)
	},
}

var actor = pg.By{Actor: "test"}

func one(p *part) holds.Scope { return holds.Scope{OrgID: p.stage.org["one"]} }

func (p *part) claim(ctx context.Context, org, key string) string {
	res, err := p.alloc.Order(ctx, allocator.Order{OrgID: p.stage.org[org], By: actor, Key: key, Request: allocator.Request{Machine: p.tag}})
	if err == nil && res.Hold != nil {
		p.hold = &res.Hold.ID
	}
	return word(string(res.Outcome), err)
}

func (p *part) status(ctx context.Context, to fleet.Status) string {
	m, err := p.fleet.SetStatus(ctx, actor, p.tag, to, "test")
	return word(string(m.Status), err)
}

// word is the answer, or the name of the refusal, or a fault that no table row expects.
func word(answer string, err error) string {
	if err == nil {
		return answer
	}
	if r, ok := errors.AsType[*holds.Refused](err); ok {
		return string(r.Kind)
	}
	if _, ok := errors.AsType[*fleet.IllegalMove](err); ok {
		return "illegal"
	}
	return "FAULT " + err.Error()
}
