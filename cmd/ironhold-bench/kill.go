package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/google/uuid"

	"ironhold/allocator"
	"ironhold/cmd/ironhold-bench/bench"
	"ironhold/migrations/pg"
)

// killFor is how long a process refuses orders before it is killed.
const killFor = 2 * time.Second

// victim refuses orders until it is killed, and prints the attempt of each answer. One line is one
// answer that somebody has read.
func victim(ctx context.Context, url string, org uuid.UUID) error {
	pool, err := pg.Connect(ctx, url, pg.PoolOptions{Name: "victim", MaxConns: 12})
	if err != nil {
		return err
	}
	defer pool.Close()
	a := allocator.New(pool, allocator.Options{})
	var mu sync.Mutex
	_, err = during(32, time.Hour, func(int) (int, error) {
		res, err := a.Order(ctx, allocator.Order{OrgID: org, By: pg.By{Actor: "bench"}, Key: uuid.NewString(), Request: bench.Request})
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(res.AttemptID)
		return 0, err
	})
	return err
}

// kill measures how many attempts are lost when a process that refuses is killed with -9.
func (m *measure) kill(ctx context.Context) (*table, error) {
	if err := m.fleet.SellOut(ctx); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &table{title: "Attempts lost at kill -9 of a process that refuses for 32 clients", head: []string{"answered", "lost", "age of the oldest lost, ms"}}
	for range min(m.rounds, 5) {
		cmd := exec.CommandContext(ctx, self, "-victim", m.url, "-victim-org", m.fleet.Orgs[1].String()) //nolint:gosec // this program
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		timer := time.AfterFunc(killFor, func() { _ = cmd.Process.Kill() })
		var ids []uuid.UUID
		var at []time.Time
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if id, err := uuid.Parse(lines.Text()); err == nil {
				ids, at = append(ids, id), append(at, time.Now())
			}
		}
		killed := time.Now()
		timer.Stop()
		_ = cmd.Wait()
		there := map[uuid.UUID]bool{}
		rows, err := m.fleet.Owner.Query(ctx, "select id from allocation_attempts where id = any($1)", ids)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var id uuid.UUID
			if err := rows.Scan(&id); err != nil {
				return nil, err
			}
			there[id] = true
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
		lost, oldest := 0, time.Duration(0)
		for i, id := range ids {
			if !there[id] {
				lost++
				oldest = max(oldest, killed.Sub(at[i]))
			}
		}
		t.add(len(ids), lost, oldest)
	}
	return t, nil
}
