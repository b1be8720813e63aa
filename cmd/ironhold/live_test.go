package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Pages of one process hear of an order at another; the streams of all end when it stops.
func TestServeTellsOpenPages(t *testing.T) {
	t.Parallel()
	p := newProg(t)
	p.ok("demo")
	p.okWith("a password for tests\n", "user", "add", "--email", "x@example.com", "--name", "X", "--role", "customer", "--org", "meridian", "--password-stdin")
	token := strings.TrimSpace(p.ok("token", "add", "--name", "t", "--role", "customer", "--org", "meridian"))
	seller, shower := p.serve("--role", "web"), p.serve()
	seller.ready()
	shower.ready()
	waitFor(t, "the hub listens", 20*time.Second, func() bool {
		_, body := shower.ask(http.MethodGet, "http://"+shower.metrics+"/metrics", "", nil)
		return strings.Contains(body, "\nironhold_live_connected 1")
	})

	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	resp, err := client.PostForm("http://"+shower.addr+"/sign-in", url.Values{"email": {"x@example.com"}, "password": {"a password for tests"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	resp, err = client.Get("http://" + shower.addr + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(io.LimitReader(resp.Body, 1<<20)); in.Scan(); {
			lines <- in.Text()
		}
	}()
	hear := func(want string) {
		t.Helper()
		for end := time.After(20 * time.Second); ; {
			select {
			case line, open := <-lines:
				if !open {
					if want != "" {
						t.Fatalf("the stream ended before %q", want)
					}
					return
				}
				if want != "" && line == want {
					return
				}
			case <-end:
				t.Fatalf("not heard: %q", want)
			}
		}
	}
	hear("event: live")
	if code, body := seller.ask(http.MethodPost, "http://"+seller.addr+"/api/v1/holds", token, map[string]any{}); code != http.StatusCreated {
		t.Fatalf("an order answers %d %s", code, body)
	}
	hear("event: stock")
	begun := time.Now()
	shower.terminate()
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("stopping with an open page took %s", took)
	}
	hear("")
	seller.terminate()
}
