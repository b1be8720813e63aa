package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// person orders one thing after another for one organisation.
type person struct {
	urls   []string
	token  string
	n      int
	ledger *ledger
	http   *http.Client
}

func newPerson(urls []string, token string, n int, l *ledger) *person {
	return &person{urls: urls, token: token, n: n, ledger: l, http: &http.Client{Timeout: 8 * time.Second}}
}

// orderAll lets everybody order until ordering ends; what has begun is brought to a definite answer
// for up to two minutes more.
func orderAll(ctx, ordering context.Context, people []*person) {
	finishing, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for _, p := range people {
		wg.Go(func() {
			for ordering.Err() == nil {
				p.order(finishing)
			}
		})
	}
	time.AfterFunc(untilEnd(ordering)+2*time.Minute, cancel)
	wg.Wait()
}

func untilEnd(ctx context.Context) time.Duration {
	if t, ok := ctx.Deadline(); ok {
		return time.Until(t)
	}
	return 0
}

type hold struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// order holds any machine and gives it back.
func (p *person) order(ctx context.Context) {
	key := rand.Text()
	var h hold
	status := p.until(ctx, http.MethodPost, "/api/v1/holds", key, "{}", &h)
	if status != http.StatusCreated && status != http.StatusOK {
		p.ledger.refused(status)
		pause(ctx, 100*time.Millisecond)
		return
	}
	p.ledger.held(key, h.ID, p.token)
	if p.until(ctx, http.MethodPost, "/api/v1/holds/"+h.ID+"/cancel", "", "", &h) == http.StatusOK {
		p.ledger.cancelled(h.ID)
	}
}

// until sends the request until its answer is definite: neither none nor 503 nor 429. It returns 0 when
// ctx ends before.
func (p *person) until(ctx context.Context, method, path, key, body string, into any) int {
	began := time.Now()
	for try := 0; ctx.Err() == nil; try++ {
		status, err := p.send(ctx, p.urls[(p.n+try)%len(p.urls)], method, path, key, body, into)
		switch {
		case err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests && status != http.StatusBadGateway:
			p.ledger.answered(path, status, time.Since(began), try)
			return status
		case err == nil:
			p.ledger.unavailable()
		default:
			p.ledger.unanswered()
		}
		pause(ctx, 200*time.Millisecond)
	}
	return 0
}

func (p *person) send(ctx context.Context, base, method, path, key, body string, into any) (int, error) {
	r, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewBufferString(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := p.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err != nil {
		return 0, err
	}
	if answer.StatusCode < 300 {
		if err := json.Unmarshal(text, into); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
	}
	return answer.StatusCode, nil
}

// holds reads all holds of the organisation.
func (p *person) holds(ctx context.Context, each func(hold)) error {
	cursor := ""
	for {
		var page struct {
			Items []hold  `json:"items"`
			Next  *string `json:"next_cursor"`
		}
		path := "/api/v1/holds?limit=500&cursor=" + url.QueryEscape(cursor)
		if cursor == "" {
			path = "/api/v1/holds?limit=500"
		}
		if status := p.until(ctx, http.MethodGet, path, "", "", &page); status != http.StatusOK {
			return fmt.Errorf("the list of holds answers %d", status)
		}
		for _, h := range page.Items {
			each(h)
		}
		if page.Next == nil {
			return nil
		}
		cursor = *page.Next
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
