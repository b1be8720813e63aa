package browsertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// watch records what a tab does besides showing pages.
type watch struct {
	origin string

	mu       sync.Mutex
	faults   []string
	allowed  []string                   // parts of faults that are meant
	pages    map[network.RequestID]bool // requests for whole pages
	requests int
}

// event is called for every event of the tab, in order.
func (w *watch) event(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		w.request(e)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			w.fault("console %s: %s", e.Type, arguments(e.Args))
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		w.fault("exception: %s at %s:%d", text, e.ExceptionDetails.URL, e.ExceptionDetails.LineNumber)
	case *log.EventEntryAdded:
		w.entry(e.Entry)
	}
}

func (w *watch) request(e *network.EventRequestWillBeSent) {
	w.requests++
	if e.Type == network.ResourceTypeDocument {
		if w.pages == nil {
			w.pages = map[network.RequestID]bool{}
		}
		w.pages[e.RequestID] = true
	}
	url := e.Request.URL
	for _, own := range []string{w.origin + "/", "data:", "blob:", "about:"} {
		if strings.HasPrefix(url, own) {
			return
		}
	}
	w.fault("request to elsewhere: %s", url)
}

// entry takes what the browser itself complains about, such as the content policy. That a page came
// with a status such as 409 is no fault of the page.
func (w *watch) entry(e *log.Entry) {
	if e.Level != log.EntryLevelError && e.Level != log.EntryLevelWarning {
		return
	}
	if e.Source == log.EntrySourceNetwork && w.pages[e.NetworkRequestID] {
		return
	}
	w.fault("browser %s (%s): %s %s", e.Level, e.Source, e.Text, e.URL)
}

func (w *watch) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// allow takes faults that contain the text for meant, from now on.
func (tab *Tab) allow(part string) {
	tab.watched.mu.Lock()
	defer tab.watched.mu.Unlock()
	tab.watched.allowed = append(tab.watched.allowed, part)
}

// report fails the test for everything recorded.
func (w *watch) report(t testing.TB) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.faults {
		if !slices.ContainsFunc(w.allowed, func(part string) bool { return strings.Contains(f, part) }) {
			t.Error(f)
		}
	}
}

// reset begins anew, for another site.
func (w *watch) reset(origin string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.origin, w.faults, w.allowed, w.pages = origin, nil, nil, nil
}

// forget drops what was recorded and returns it: for tests that cause it on purpose.
func (w *watch) forget() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.faults
	w.faults = nil
	return f
}

func arguments(args []*runtime.RemoteObject) string {
	var all []string
	for _, a := range args {
		switch {
		case a.Description != "":
			all = append(all, a.Description)
		default:
			all = append(all, strings.Trim(string(a.Value), `"`))
		}
	}
	return strings.Join(all, " ")
}
