package browsertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// EnvChromium names the browser to use.
const EnvChromium = "CHROMIUM"

var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// find returns the path of a browser that speaks the DevTools protocol.
func find() (string, error) {
	if path := os.Getenv(EnvChromium); path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", errors.New(EnvChromium + " names no program that can be run: " + path)
		}
		return found, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium found: install the package chromium (Debian: apt-get install chromium) or set " +
		EnvChromium + " to the path of one")
}

// chromium is the one browser of this test binary.
type chromium struct {
	ctx  context.Context
	stop context.CancelFunc
}

var shared = struct {
	sync.Mutex
	*chromium
	err error
}{}

// browser starts the browser at its first use.
func browser(t testing.TB) context.Context {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.chromium == nil && shared.err == nil {
		shared.chromium, shared.err = start()
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.ctx
}

func start() (*chromium, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path)}
	for _, name := range []string{
		"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "no-default-browser-check",
		"disable-background-networking", "disable-component-update", "disable-sync", "disable-default-apps",
		"disable-extensions", "disable-dev-shm-usage", "hide-scrollbars", "mute-audio", "metrics-recording-only",
		// Several tabs work at once, and none is in front.
		"disable-background-timer-throttling", "disable-renderer-backgrounding", "disable-backgrounding-occluded-windows",
	} {
		options = append(options, chromedp.Flag(name, true))
	}
	options = append(options,
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("font-render-hinting", "none"),
		chromedp.Flag("disable-features", "Translate,OptimizationHints,MediaRouter"))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	stop := func() {
		cancel()
		stopAllocator()
	}
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, err
	}
	return &chromium{ctx: ctx, stop: stop}, nil
}

// Main runs the tests of a package and ends the browser after them.
func Main(m *testing.M) int {
	defer func() {
		if shared.chromium != nil {
			shared.stop()
		}
	}()
	return m.Run()
}
