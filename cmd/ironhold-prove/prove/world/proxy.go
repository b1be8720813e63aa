//go:build linux

package world

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"
)

// Proxy stands between one process and the database.
type Proxy struct {
	proxy *toxiproxy.Proxy
	armed *atomic.Int64
}

// commitToxic closes a connection instead of passing the answer of a COMMIT on, as often as it is
// armed: the transaction has happened, and nobody is told.
type commitToxic struct {
	Slot int `json:"slot"`
}

// armedSlots count how many answers are still to be lost, one counter for each proxy; toxics are
// made by the library from JSON and cannot be handed a pointer.
var (
	armedSlots [8]atomic.Int64
	nextSlot   atomic.Int64
)

// commitDone is the server's CommandComplete of a COMMIT.
var commitDone = []byte("C\x00\x00\x00\x0bCOMMIT\x00")

func init() { toxics.Register("commit_answer", new(commitToxic)) }

// Pipe implements toxics.Toxic.
func (t *commitToxic) Pipe(stub *toxics.ToxicStub) {
	armed := &armedSlots[t.Slot%len(armedSlots)]
	for {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			if c == nil {
				stub.Close()
				return
			}
			if bytes.Contains(c.Data, commitDone) && take(armed) {
				stub.Close()
				return
			}
			stub.Output <- c
		}
	}
}

func take(n *atomic.Int64) bool {
	for {
		v := n.Load()
		if v <= 0 {
			return false
		}
		if n.CompareAndSwap(v, v-1) {
			return true
		}
	}
}

func newProxy(name, upstream string) (*Proxy, error) {
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	slot := int(nextSlot.Add(1)-1) % len(armedSlots)
	armedSlots[slot].Store(0)
	p := &Proxy{proxy: toxiproxy.NewProxy(api, name, "127.0.0.1:0", upstream), armed: &armedSlots[slot]}
	if err := p.proxy.Start(); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	return p, p.add(fmt.Sprintf(`{"name":"commit","type":"commit_answer","stream":"downstream","attributes":{"slot":%d}}`, slot))
}

func (p *Proxy) add(toxic string) error {
	if _, err := p.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		return fmt.Errorf("toxic %s: %w", toxic, err)
	}
	return nil
}

// Addr is where the process connects to.
func (p *Proxy) Addr() string { return p.proxy.Listen }

// Cut closes all connections and takes no new ones for a while.
func (p *Proxy) Cut(ctx context.Context, away time.Duration) error {
	p.proxy.Stop()
	err := Sleep(ctx, away)
	if again := p.proxy.Start(); again != nil {
		return fmt.Errorf("proxy: %w", again)
	}
	return err
}

// Delay holds up everything in both directions for a while.
func (p *Proxy) Delay(ctx context.Context, by, d time.Duration) error {
	for _, way := range []string{"upstream", "downstream"} {
		if err := p.add(fmt.Sprintf(`{"name":"late_%s","type":"latency","stream":"%s","attributes":{"latency":%d,"jitter":%d}}`,
			way, way, by.Milliseconds(), by.Milliseconds()/2)); err != nil {
			return err
		}
	}
	err := Sleep(ctx, d)
	for _, way := range []string{"upstream", "downstream"} {
		if again := p.proxy.Toxics.RemoveToxic(context.WithoutCancel(ctx), "late_"+way); again != nil {
			return fmt.Errorf("proxy: %w", again)
		}
	}
	return err
}

// LoseCommits lets the answers of the next n commits be lost. It returns how many were when
// the time is up.
func (p *Proxy) LoseCommits(ctx context.Context, n int64, within time.Duration) (int64, error) {
	p.armed.Store(n)
	for end := time.Now().Add(within); p.armed.Load() > 0 && time.Now().Before(end); {
		if err := Sleep(ctx, 10*time.Millisecond); err != nil {
			break
		}
	}
	return n - p.armed.Swap(0), ctx.Err()
}
