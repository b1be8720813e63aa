package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/allocator"
	"ironhold/cmd/ironhold-bench/bench"
	"ironhold/holds"
	"ironhold/migrations/pg"
)

// claim sends one order of an organisation.
func (m *measure) claim(ctx context.Context, org uuid.UUID) (int, error) {
	res, err := m.alloc.Order(ctx, allocator.Order{OrgID: org, By: pg.By{Actor: "bench"}, Key: uuid.NewString(), Request: bench.Request})
	if res.Outcome == allocator.Held {
		return 1, err
	}
	return 0, err
}

// beside measures one calm client's orders alone and beside something that goes on meanwhile.
func (m *measure) beside(ctx context.Context, what string, prepare func() error, f func(context.Context) error) (row []any, err error) {
	calm := func() (load, error) {
		return during(2, 2*m.round, func(c int) (int, error) { return m.claim(ctx, m.fleet.Orgs[len(m.fleet.Orgs)-1-c]) })
	}
	var alone, with []float64
	for range min(m.rounds, 3) {
		if err := m.fleet.Clear(ctx); err != nil {
			return nil, err
		}
		if err := prepare(); err != nil {
			return nil, err
		}
		a, err := calm()
		if err != nil {
			return nil, err
		}
		noise, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- f(noise) }()
		time.Sleep(50 * time.Millisecond)
		b, err := calm()
		stop()
		if noisy := <-ended; noisy != nil && ctx.Err() == nil && !isCancelled(noisy) {
			return nil, noisy
		}
		if err != nil {
			return nil, err
		}
		alone = append(alone, float64(quantile(a.took, .99).Microseconds())/1000)
		with = append(with, float64(quantile(b.took, .99).Microseconds())/1000)
	}
	x, _, _ := bench.Median(alone)
	y, _, _ := bench.Median(with)
	return []any{what, spreadOf(alone), spreadOf(with), y / x}, nil
}

func isCancelled(err error) bool {
	return pg.Away(err) || pg.Busy(err) || slices.Contains([]string{context.Canceled.Error()}, rootOf(err).Error())
}

func rootOf(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error }) //nolint:errorlint // the chain itself is walked
		if !ok || u.Unwrap() == nil {
			return err
		}
		err = u.Unwrap()
	}
}

// fairness tells what others notice of one organisation's crowd, of a sweep and of an export.
func (m *measure) fairness(ctx context.Context) (*table, error) {
	t := &table{title: "What a calm organisation's orders notice (p99 of two clients, ms)", head: []string{"beside", "alone", "with it", "ratio"}}
	nothing := func() error { return nil }
	crowd := func(ctx context.Context) error {
		_, err := during(1000, time.Hour, func(int) (int, error) {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			return m.claim(ctx, m.fleet.Orgs[0])
		})
		return err
	}
	overdue := func() error { return m.fleet.Overdue(ctx, 100_000) }
	sweep := func(ctx context.Context) error {
		_, err := holds.New(m.pool, holds.DefaultPolicy()).Sweep(ctx)
		return err
	}
	export := func(ctx context.Context) error {
		a := m.alloc
		for after := ""; ; {
			list, next, err := a.SurveyBy(ctx, m.fleet.Orgs[0], bench.Request, "", after, 1000)
			if err != nil {
				return err
			}
			if after = next; next == "" || len(list) == 0 {
				after = ""
			}
			if ctx.Err() != nil {
				return nil
			}
		}
	}
	for _, c := range []struct {
		what    string
		prepare func() error
		f       func(context.Context) error
	}{
		{"1,000 parallel orders of one organisation", nothing, crowd},
		{"a sweep of 100,000 overdue holds", overdue, sweep},
		{"staff listing the whole fleet with reasons", nothing, export},
	} {
		fmt.Println("beside", c.what)
		row, err := m.beside(ctx, c.what, c.prepare, c.f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.what, err)
		}
		t.add(row...)
	}
	return t, nil
}

// one measures orders of one organisation, which go one after another.
func (m *measure) one(ctx context.Context) (*table, error) {
	t := &table{title: "Orders of one organisation, one after another behind its row", head: []string{"clients", "orders/s", "p50 ms", "p99 ms", "refused"}}
	for _, clients := range m.clients {
		var rates, p50, p99 []float64
		refused := 0
		for range min(m.rounds, 3) {
			if err := m.fleet.Clear(ctx); err != nil {
				return nil, err
			}
			l, err := during(clients, m.round, func(int) (int, error) { return m.claim(ctx, m.fleet.Orgs[0]) })
			if err != nil {
				return nil, err
			}
			refused += l.statuses[0]
			rates = append(rates, l.rate)
			p50 = append(p50, float64(quantile(l.took, .5).Microseconds())/1000)
			p99 = append(p99, float64(quantile(l.took, .99).Microseconds())/1000)
		}
		a, _, _ := bench.Median(p50)
		b, _, _ := bench.Median(p99)
		t.add(clients, spreadOf(rates), a, b, refused)
	}
	return t, nil
}

// alternatives measures what people write instead, on the same schema and with the same rows: the
// whole pool locked by SKIP LOCKED, FOR UPDATE that waits, and SERIALIZABLE with retries. The
// triggers refuse the last one, since caps would be counted on an old snapshot: it runs without the
// guard and is quicker than it could be.
func (m *measure) alternatives(ctx context.Context) (*table, error) {
	t := &table{title: "What people write instead (25 clients, 25 free machines)", head: []string{"", "claims/s", "refused while a machine was free", "failures"}}
	const free = 25
	pick := "select id from machines m where class_id = $1 and status = 'ready' and not exists (select from holds h where h.machine_id = m.id and h.state = 'held') order by lot, id "
	for _, c := range []struct{ name, lock string }{
		{"pool-wide FOR UPDATE SKIP LOCKED, 25 rows", pick + "limit 25 for update skip locked"},
		{"blocking FOR UPDATE of the best", pick + "limit 1 for update"},
		{"the allocator", ""},
	} {
		held, refused, failed := 0, 0, 0
		var rates []float64
		for range m.rounds {
			if err := m.fleet.SellOut(ctx); err != nil {
				return nil, err
			}
			if err := m.fleet.GiveBack(ctx, free); err != nil {
				return nil, err
			}
			began := time.Now()
			got := make([]string, free)
			done := make(chan string, free)
			for i := range free {
				go func() { done <- m.alternative(ctx, c.lock, m.fleet.Orgs[1+i%(len(m.fleet.Orgs)-1)]) }()
			}
			for i := range free {
				got[i] = <-done
				switch got[i] {
				case "held":
					held++
				case "refused":
					refused++
				default:
					failed++
				}
			}
			rates = append(rates, float64(free)/time.Since(began).Seconds())
		}
		t.add(c.name, spreadOf(rates), fmt.Sprintf("%d of %d", refused, held+refused+failed), failed)
	}
	return t, nil
}

// alternative is one claim: "held", "refused" or why it failed.
func (m *measure) alternative(ctx context.Context, lock string, org uuid.UUID) string {
	if lock == "" {
		n, err := m.claim(ctx, org)
		switch {
		case err != nil:
			return err.Error()
		case n == 1:
			return "held"
		}
		return "refused"
	}
	answer := "refused"
	err := pg.Engine(ctx, m.pool, pg.By{Actor: "bench"}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select from org_limits where org_id = $1 for no key update", org); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, lock, m.fleet.ClassID)
		if err != nil {
			return err
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil || len(ids) == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `
insert into holds (org_id, machine_id, idempotency_key, expires_at) values ($1, $2, $3, clock_timestamp() + interval '15 min')`,
			org, ids[0], uuid.NewString())
		answer = "held"
		return err
	})
	if err != nil {
		if c := pg.Constraint(err); c == "holds_one_held_per_machine" {
			return "refused"
		}
		return err.Error()
	}
	return answer
}
