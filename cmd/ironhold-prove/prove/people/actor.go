package people

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"ironhold/cmd/ironhold-prove/prove/record"
)

// Town is where people buy: the processes, the organisations, and what they are counted by.
type Town struct {
	Bases  []string
	Names  []string
	Tokens []string // of each organisation
	Slugs  []string
	Log    *record.Log
	Client *Client // shared by those who use the API

	// Orders counts orders that were sent with a new key.
	Orders atomic.Int64
}

// Actor is one person.
type Actor struct {
	Town   *Town
	Phase  string
	ID     int
	client *Client
	form   bool // orders by the page; both processes are one host to its cookies
	login  url.Values
	org    int
}

// NewActor makes a person who uses the API.
func (t *Town) NewActor(phase string, id int) *Actor {
	return &Actor{Town: t, Phase: phase, ID: id, client: t.Client}
}

// NewFormActor makes a person who signs in and orders by the page, for one organisation.
func (t *Town) NewFormActor(phase string, id, org int, email, password string) *Actor {
	return &Actor{Town: t, Phase: phase, ID: id, client: NewClient(t.Log), form: true, org: org,
		login: url.Values{"email": {email}, "password": {password}}}
}

// retries bounds how often one request is sent again; pause is between two.
const (
	retries = 60
	pause   = 250 * time.Millisecond
)

// until sends what make gives until the answer is definite, each time to the other process.
func (a *Actor) until(ctx context.Context, process int, patience time.Duration, send func(process int, patience time.Duration) *record.Entry) *record.Entry {
	var e *record.Entry
	for n := range retries {
		e = send((process+n)%len(a.Town.Bases), patience)
		if !e.Unknown() && e.Problem != "try-again-shortly" || ctx.Err() != nil {
			return e
		}
		patience = 12 * time.Second
		select {
		case <-ctx.Done():
			return e
		case <-time.After(pause):
		}
	}
	return e
}

func (a *Actor) entry(op string, org, process int) *record.Entry {
	return &record.Entry{Phase: a.Phase, Actor: a.ID, Op: op, Form: a.form, Process: a.Town.Names[process], Org: a.Town.Slugs[org]}
}

func body(ask record.Ask) map[string]any {
	m := map[string]any{}
	if ask.CPU != "" {
		m["cpu"] = ask.CPU
	}
	if ask.MinRAMGB != 0 {
		m["min_ram_gb"] = ask.MinRAMGB
	}
	if ask.Machine != "" {
		m["machine"] = ask.Machine
	}
	return m
}

func formBody(ask record.Ask, key string) url.Values {
	v := url.Values{"key": {key}}
	for name, value := range body(ask) {
		switch x := value.(type) {
		case string:
			v.Set(name, x)
		case int:
			v.Set(name, strconv.Itoa(x))
		}
	}
	return v
}

// OrderOnce sends an order once.
func (a *Actor) OrderOnce(ctx context.Context, org, process int, ask record.Ask, key string, patience time.Duration) *record.Entry {
	e := a.entry(record.Order, org, process)
	e.Ask, e.Key = ask, key
	call := Call{Base: a.Town.Bases[process], Method: http.MethodPost, Path: "/api/v1/holds", Token: a.Town.Tokens[org], Body: body(ask), Patience: patience}
	if a.form {
		call.Path, call.Token, call.Body = "/order", "", formBody(ask, key)
	}
	a.client.Do(ctx, call, e)
	return e
}

// step sends one step on a hold or service once.
func (a *Actor) step(ctx context.Context, op string, org, process int, target, path string, patience time.Duration) *record.Entry {
	e := a.entry(op, org, process)
	e.Target = target
	e.Form = false // steps go by the API in any case
	call := Call{Base: a.Town.Bases[process], Method: http.MethodPost, Path: path, Token: a.Town.Tokens[org], Body: map[string]any{}, Patience: patience}
	if op == record.See || op == record.Look {
		call.Method, call.Body = http.MethodGet, nil
	}
	a.client.Do(ctx, call, e)
	return e
}

// Confirm converts once.
func (a *Actor) Confirm(ctx context.Context, org, process int, hold string, patience time.Duration) *record.Entry {
	return a.step(ctx, record.Confirm, org, process, hold, "/api/v1/holds/"+hold+"/convert", patience)
}

// Cancel gives a hold back, until the answer is definite.
func (a *Actor) Cancel(ctx context.Context, org, process int, hold string) *record.Entry {
	return a.until(ctx, process, 12*time.Second, func(process int, patience time.Duration) *record.Entry {
		return a.step(ctx, record.Cancel, org, process, hold, "/api/v1/holds/"+hold+"/cancel", patience)
	})
}

// SignIn signs a form's person in, until it works.
func (a *Actor) SignIn(ctx context.Context) *record.Entry {
	return a.until(ctx, 0, 12*time.Second, func(process int, patience time.Duration) *record.Entry {
		e := a.entry("sign-in", a.org, process)
		a.client.Do(ctx, Call{Base: a.Town.Bases[process], Method: http.MethodPost, Path: "/sign-in", Body: a.login, Patience: patience}, e)
		return e
	})
}

// Order sends the order of a plan, twice at once if it says so, and again until it is answered.
func (a *Actor) Order(ctx context.Context, p Plan) *record.Entry {
	a.Town.Orders.Add(1)
	send := func(process int, patience time.Duration) *record.Entry {
		return a.OrderOnce(ctx, p.Org, process, p.Ask, p.Key, patience)
	}
	var wg sync.WaitGroup
	if p.Twice {
		wg.Go(func() { send(1-p.Process, p.Patience) })
	}
	e := a.until(ctx, p.Process, p.Patience, send)
	wg.Wait()
	return e
}

// Live carries a plan out.
func (a *Actor) Live(ctx context.Context, p Plan) {
	if a.form {
		p.Org = a.org
	}
	if p.Look {
		a.step(ctx, record.Look, p.Org, p.Process, "", "/api/v1/offers", 12*time.Second)
	}
	got := a.Order(ctx, p)
	if !got.OK() || got.Hold == "" {
		return
	}
	if !wait(ctx, p.Hesitates) {
		return
	}
	path := "/api/v1/holds/" + got.Hold
	if p.See {
		a.step(ctx, record.See, p.Org, p.Process, got.Hold, path, 12*time.Second)
	}
	again := func(op, target, path string) *record.Entry {
		return a.until(ctx, p.Process, 12*time.Second, func(process int, patience time.Duration) *record.Entry {
			return a.step(ctx, op, p.Org, process, target, path, patience)
		})
	}
	if p.Extends {
		again(record.Extend, got.Hold, path+"/extend")
	}
	op, suffix := record.Cancel, "/cancel"
	switch p.End {
	case Forgets:
		return
	case Confirms:
		op, suffix = record.Confirm, "/convert"
	}
	var wg sync.WaitGroup
	if p.EndTwice {
		wg.Go(func() { a.step(ctx, op, p.Org, 1-p.Process, got.Hold, path+suffix, 12*time.Second) })
	}
	end := again(op, got.Hold, path+suffix)
	wg.Wait()
	if op == record.Confirm && end.OK() && end.Service != "" && p.Returns && wait(ctx, p.Hesitates) {
		again(record.End, end.Service, "/api/v1/services/"+end.Service+"/end")
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
