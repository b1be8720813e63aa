package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client calls one server with one token.
type Client struct {
	base     *url.URL
	token    string
	Patience time.Duration // how long a request is tried; 0: once
	Attempt  time.Duration // how long one try may take
	Notice   func(string)  // told why a request is sent again; may be nil
	http     *http.Client
}

// Defaults of a new client.
const (
	defaultPatience = time.Minute
	defaultAttempt  = 15 * time.Second
	maxAnswer       = 16 << 20 // bytes
)

// New makes a client of a server's address, as https://portal.example.
func New(base, token string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no address like https://portal.example", base)
	}
	return &Client{base: u, token: token, Patience: defaultPatience, Attempt: defaultAttempt, http: &http.Client{
		// The token goes nowhere but to the address it was given for.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// NewKey makes an idempotency key.
func NewKey() string { return rand.Text() }

// NoAnswer is a request of which it is not known whether it was carried out.
type NoAnswer struct{ cause error }

func (e *NoAnswer) Error() string { return "no answer from the server: " + e.cause.Error() }

// Unwrap returns the last fault.
func (e *NoAnswer) Unwrap() error { return e.cause }

// request is one call of the API.
type request struct {
	method, path string
	query        url.Values
	body         any    // nil: none
	key          string // "": none
}

// call sends the request until there is an answer, and decodes it. Errors: *Problem, *NoAnswer, and
// the context's.
func (c *Client) call(ctx context.Context, q request, to any) error {
	body, err := c.patiently(ctx, q)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, to); err != nil {
		return fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return nil
}

func (c *Client) patiently(ctx context.Context, q request) ([]byte, error) {
	start := time.Now()
	for pause := 200 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		body, again, err := c.once(ctx, q)
		if err == nil {
			return body, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p, refused := errors.AsType[*Problem](err)
		if _, silent := errors.AsType[*NoAnswer](err); !silent && (!refused || !p.passes()) {
			return nil, err
		}
		wait := max(pause, again)
		if time.Since(start)+wait > c.Patience {
			return nil, err
		}
		if c.Notice != nil {
			c.Notice(err.Error() + "; sending it again")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// once sends the request one time; again is what Retry-After says.
func (c *Client) once(ctx context.Context, q request) (body []byte, again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Attempt)
	defer cancel()
	r, err := c.build(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, 0, &NoAnswer{withoutAddress(err)}
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, 0, &NoAnswer{err}
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		again = time.Duration(seconds) * time.Second
	}
	if res.StatusCode >= http.StatusOK && res.StatusCode < http.StatusMultipleChoices {
		return body, 0, nil
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	p := &Problem{Status: res.StatusCode, Raw: body}
	if kind == "application/problem+json" && json.Unmarshal(body, p) == nil && p.Type != "" {
		return nil, again, p
	}
	if res.StatusCode == http.StatusBadGateway || res.StatusCode == http.StatusServiceUnavailable || res.StatusCode == http.StatusGatewayTimeout {
		return nil, again, &NoAnswer{fmt.Errorf("something on the way answered %s", res.Status)}
	}
	return nil, 0, fmt.Errorf("the server at %s answered %s and no document of the API", c.base.Host, res.Status)
}

func (c *Client) build(ctx context.Context, q request) (*http.Request, error) {
	var reader io.Reader
	if q.body != nil {
		raw, err := json.Marshal(q.body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(raw)
	}
	address := c.base.JoinPath("/api/v1", q.path)
	address.RawQuery = q.query.Encode()
	r, err := http.NewRequestWithContext(ctx, q.method, address.String(), reader)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "ironhold-client")
	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.key != "" {
		r.Header.Set("Idempotency-Key", q.key)
	}
	return r, nil
}

// withoutAddress leaves out what url.Error repeats.
func withoutAddress(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		if e.Timeout() {
			return errors.New("it took too long")
		}
		return e.Err
	}
	return err
}

// segment is an id from the command line as a part of an address.
func segment(id string) string { return url.PathEscape(strings.TrimSpace(id)) }
