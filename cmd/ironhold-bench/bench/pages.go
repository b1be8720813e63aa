package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// PagesLoad is people who look at pages of a running portal: each signs in once, then opens one page
// after another and thinks in between.
type PagesLoad struct {
	URL    string            // of the portal; only this machine's is asked
	People map[string]string // password by address: who signs in, in turn
	Users  int
	For    time.Duration
	Think  time.Duration // on the average; each pause is from half to one and a half of it
}

// PageTimes is what one address took, from the request to the last byte.
type PageTimes struct {
	Path     string
	Requests int
	Bytes    int // the largest answer
	P50, P95 time.Duration
}

// visible are the pages by the part of an address that tells who may see them; each person asks for those
// that the portal answers with 200.
var visible = []string{
	"/", "/offers", "/offers?min_ram_gb=64&sort=-price", "/offers?size=5", "/order", "/order?step=match&min_ram_gb=64", "/holds", "/services",
	"/waiting", "/account", "/help", "/help/api", "/org", "/org/history", "/org/rollout", "/desk", "/desk/holds", "/desk/requests", "/desk/demand",
	"/fleet", "/fleet/classes", "/fleet/sites", "/admin/orgs", "/admin/people", "/admin/checks", "/admin/mail", "/admin/rollout",
}

// Run looks at the pages and gives the times of each, by path, with /healthz first as the measure.
func (l PagesLoad) Run(ctx context.Context) ([]PageTimes, error) {
	u, err := url.Parse(l.URL)
	if err != nil || u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" && u.Hostname() != "::1" {
		return nil, fmt.Errorf("%s is no address of this machine: pages are only loaded here", l.URL)
	}
	var addresses []string
	for a := range l.People {
		addresses = append(addresses, a)
	}
	slices.Sort(addresses)
	if len(addresses) == 0 {
		return nil, errors.New("nobody to sign in as")
	}
	people := map[string]*http.Client{}
	pages := map[string][]string{}
	for _, a := range addresses {
		if people[a], err = l.signIn(ctx, a, l.People[a]); err != nil {
			return nil, err
		}
		for _, path := range visible {
			if status, _, err := l.get(ctx, people[a], path); err != nil {
				return nil, err
			} else if status == http.StatusOK {
				pages[a] = append(pages[a], path)
			}
		}
		pages[a] = append(pages[a], "/healthz")
	}
	var (
		mu    sync.Mutex
		took  = map[string][]time.Duration{}
		bytes = map[string]int{}
		wrong error
		wg    sync.WaitGroup
	)
	ctx, cancel := context.WithTimeout(ctx, l.For)
	defer cancel()
	for i := range l.Users {
		who := addresses[i%len(addresses)]
		wg.Go(func() {
			// They do not begin all at once.
			if !pause(ctx, time.Duration(rand.Int64N(int64(l.Think)))) {
				return
			}
			for {
				path := pages[who][rand.IntN(len(pages[who]))]
				began := time.Now()
				status, size, err := l.get(ctx, people[who], path)
				spent := time.Since(began)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				if err != nil || status != http.StatusOK {
					wrong = errors.Join(fmt.Errorf("%s: status %d", path, status), err)
				}
				took[path], bytes[path] = append(took[path], spent), max(bytes[path], size)
				mu.Unlock()
				if !pause(ctx, l.Think/2+time.Duration(rand.Int64N(int64(l.Think)))) {
					return
				}
			}
		})
	}
	wg.Wait()
	var out []PageTimes
	for path, list := range took {
		slices.Sort(list)
		at := func(share float64) time.Duration { return list[min(len(list)-1, int(share*float64(len(list))))] }
		out = append(out, PageTimes{Path: path, Requests: len(list), Bytes: bytes[path], P50: at(.5), P95: at(.95)})
	}
	slices.SortFunc(out, func(a, b PageTimes) int {
		if (a.Path == "/healthz") != (b.Path == "/healthz") {
			if a.Path == "/healthz" {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	return out, wrong
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (l PagesLoad) signIn(ctx context.Context, address, password string) (*http.Client, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	c := &http.Client{Jar: jar, Transport: &http.Transport{MaxIdleConnsPerHost: l.Users}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	body := url.Values{"email": {address}, "password": {password}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL+"/sign-in", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read only
	if resp.StatusCode != http.StatusSeeOther {
		return nil, fmt.Errorf("%s cannot sign in: status %d", address, resp.StatusCode)
	}
	return c, nil
}

func (l PagesLoad) get(ctx context.Context, c *http.Client, path string) (status, size int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL+path, nil)
	if err != nil {
		return 0, 0, err
	}
	resp, err := c.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // read only
	n, err := io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, int(n), err
}
