package allocator_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"ironhold/allocator"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest"
	"ironhold/migrations/pgtest/fixture"
)

// cutter stands between the pool and the server and cuts the connection around a commit.
type cutter struct {
	dir    string
	target string
	mode   atomic.Int32 // of the next batch that ends with a commit
	armed  atomic.Int32
}

const (
	cutBefore = iota + 1 // the server never hears of it
	cutAfter             // the server has done it, and the answer is lost
)

// newCutter listens where a server with its socket in dir would.
func newCutter(t *testing.T, server string) *cutter {
	t.Helper()
	dir, err := os.MkdirTemp("", "cut") // short: a socket's path has few bytes
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{dir: dir, target: server}
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		os.RemoveAll(dir)
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go c.serve(client)
		}
	}()
	return c
}

func (c *cutter) serve(client net.Conn) {
	server, err := net.Dial("unix", c.target)
	if err != nil {
		client.Close()
		return
	}
	pass := func(from, to net.Conn, cut int32) {
		defer from.Close()
		defer to.Close()
		buf := make([]byte, 1<<16)
		for {
			n, err := from.Read(buf)
			if err != nil || c.armed.CompareAndSwap(cut, 0) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	go pass(client, server, cutBefore)
	pass(server, client, cutAfter)
}

func (*cutter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (*cutter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *cutter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	q := d.Batch.QueuedQueries
	if q[len(q)-1].SQL == "commit" {
		c.armed.Store(c.mode.Swap(0))
	}
	return ctx
}
func (*cutter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*cutter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// TestACutConnectionAroundTheCommit: the commit travels with the insert, and the connection breaks
// before it arrived or after it was done. The order finds out which.
func TestACutConnectionAroundTheCommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		mode int32
		want allocator.Outcome
		then allocator.Outcome
	}{
		{"before", cutBefore, allocator.Busy, allocator.Held},
		{"after", cutAfter, allocator.Held, allocator.Replayed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			owner := pgtest.DB(t)
			login := pgtest.LoginURL(t, owner.Config().ConnString())
			u, err := url.Parse(login)
			if err != nil {
				t.Fatal(err)
			}
			cfg := owner.Config().ConnConfig
			cut := newCutter(t, filepath.Join(cfg.Host, fmt.Sprintf(".s.PGSQL.%d", cfg.Port)))
			q := u.Query()
			q.Set("host", cut.dir)
			q.Set("port", "5432")
			u.RawQuery, u.Host = q.Encode(), ""
			pool, err := pg.Connect(context.Background(), u.String(), pg.PoolOptions{Name: "cut", MaxConns: 2, Tracer: cut})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			a := allocator.New(pool, allocator.Options{})
			t.Cleanup(func() { a.Close(context.Background()) })
			b := &bench{t: t, owner: owner, alloc: a}
			org := fixture.Org(t, owner, "acme", 5, 50)
			fixture.Equal(t, owner, "m", 4)
			if res := b.order(org, "first", allocator.Request{}); res.Outcome != allocator.Held {
				t.Fatalf("%+v", res)
			}
			cut.mode.Store(c.mode)
			res := b.order(org, "k", allocator.Request{})
			if res.Outcome != c.want {
				t.Errorf("the answer is %s, want %s: %s", res.Outcome, c.want, res.Detail)
			}
			then := b.order(org, "k", allocator.Request{})
			if then.Outcome != c.then || res.Hold != nil && then.Hold.ID != res.Hold.ID {
				t.Errorf("the same key gives %s %+v", then.Outcome, then.Hold)
			}
			if n := fixture.Get[int](t, owner, "select count(*) from holds"); n != 2 {
				t.Errorf("%d holds", n)
			}
		})
	}
}
