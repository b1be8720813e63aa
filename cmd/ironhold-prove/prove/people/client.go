package people

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ironhold/cmd/ironhold-prove/prove/record"
)

// Client sends recorded requests to one process.
type Client struct {
	http *http.Client
	log  *record.Log
}

// NewClient makes a client; forms give it a cookie jar of its own.
func NewClient(log *record.Log) *Client {
	jar, _ := cookiejar.New(nil) // never fails without options
	return &Client{log: log, http: &http.Client{
		Jar:           jar,
		Transport:     &http.Transport{MaxIdleConns: 2000, MaxIdleConnsPerHost: 1000, IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is what the driver reads of any document.
type answer struct {
	ID      string    `json:"id"`
	State   string    `json:"state"`
	Type    string    `json:"type"`
	Hold    string    `json:"hold"`
	Expires time.Time `json:"expires_at"`
	Machine struct {
		Tag string `json:"asset_tag"`
	} `json:"machine"`
}

// Call is where and how an Entry is sent.
type Call struct {
	Base, Method, Path string
	Token              string // "" for forms
	Body               any    // JSON, or url.Values for a form
	Patience           time.Duration
}

// Do sends the request, reads the answer into the entry and records it. It returns the body.
func (c *Client) Do(ctx context.Context, call Call, e *record.Entry) []byte {
	ctx, cancel := context.WithTimeout(ctx, call.Patience)
	defer cancel()
	var body io.Reader
	kind := "application/json"
	switch b := call.Body.(type) {
	case nil:
	case url.Values:
		body, kind = strings.NewReader(b.Encode()), "application/x-www-form-urlencoded"
	default:
		raw, _ := json.Marshal(b) // plain maps
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, call.Method, call.Base+call.Path, body)
	if err != nil {
		e.Error = err.Error()
		return nil
	}
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	if call.Token != "" {
		req.Header.Set("Authorization", "Bearer "+call.Token)
		if e.Key != "" && e.Op == record.Order {
			req.Header.Set("Idempotency-Key", e.Key)
		}
	} else {
		req.Header.Set("Origin", call.Base)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	e.Sent = time.Now()
	resp, err := c.http.Do(req)
	var raw []byte
	if err == nil {
		raw, err = io.ReadAll(io.LimitReader(resp.Body, 4<<20))
		_ = resp.Body.Close()
	}
	e.Got = time.Now()
	if err != nil {
		e.Error = err.Error()
	} else {
		e.Status, e.Request = resp.StatusCode, resp.Header.Get("X-Request-Id")
		e.Replayed = resp.Header.Get("Idempotent-Replayed") == "true"
		if call.Token != "" {
			readDocument(e, raw)
		} else {
			readPage(e, resp.Header.Get("Location"), raw)
		}
	}
	c.log.Add(e)
	return raw
}

func readDocument(e *record.Entry, raw []byte) {
	var a answer
	if json.Unmarshal(raw, &a) != nil && e.OK() && e.Op != record.Look {
		e.Problem = "unreadable"
		return
	}
	if name, ok := strings.CutPrefix(a.Type, "/problems/"); ok {
		e.Problem = name
		return
	}
	if !e.OK() {
		e.Problem = "status-" + strconv.Itoa(e.Status)
		return
	}
	switch e.Op {
	case record.Order, record.See, record.Extend, record.Cancel:
		e.Hold, e.Machine, e.State, e.Expires = a.ID, a.Machine.Tag, a.State, a.Expires
	case record.Confirm, record.End:
		e.Service, e.Hold, e.Machine, e.State = a.ID, a.Hold, a.Machine.Tag, a.State
	}
}

const outcomeMark = `data-outcome="`

func readPage(e *record.Entry, location string, raw []byte) {
	if id, ok := strings.CutPrefix(location, "/holds/"); ok && e.Status == http.StatusSeeOther {
		id, _, _ = strings.Cut(id, "?")
		e.Hold = id
		return
	}
	if _, rest, ok := bytes.Cut(raw, []byte(outcomeMark)); ok {
		name, _, _ := bytes.Cut(rest, []byte(`"`))
		if e.Status >= 400 {
			e.Problem = string(name)
		}
		return
	}
	if e.Status >= 400 {
		e.Problem = fmt.Sprintf("status-%d", e.Status)
	}
}
