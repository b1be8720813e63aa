package browsertest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Size is a window's, in CSS pixels.
type Size struct {
	Name          string
	Width, Height int64
	Phone         bool
}

// The sizes that pages are tried at.
var (
	Desktop = Size{Name: "1280", Width: 1280, Height: 900}
	Phone   = Size{Name: "390", Width: 390, Height: 844, Phone: true}
	Narrow  = Size{Name: "320", Width: 320, Height: 640, Phone: true} // also a desktop at 400 %
)

// Size gives the window a size.
func (tab *Tab) Size(s Size) {
	tab.t.Helper()
	// Not "mobile": it lets a page that is too wide shrink instead of showing that it is.
	call(tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: s.Width, Height: s.Height, DeviceScaleFactor: 1})
	points := int64(1)
	call(tab, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: s.Phone, MaxTouchPoints: points})
}

// Scheme chooses light or dark.
func (tab *Tab) Scheme(scheme string) { tab.Media("prefers-color-scheme", scheme) }

// Media sets a media feature, such as prefers-reduced-motion; "" gives it back.
func (tab *Tab) Media(feature, value string) {
	tab.t.Helper()
	tab.media[feature] = value
	var all []*emulation.MediaFeature
	for _, name := range slices.Sorted(maps.Keys(tab.media)) {
		all = append(all, &emulation.MediaFeature{Name: name, Value: tab.media[name]})
	}
	call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: all})
}

// Print shows the page as it is printed.
func (tab *Tab) Print() {
	tab.t.Helper()
	call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
}

// WithoutScripts switches the pages' scripts off from the next page on.
func (tab *Tab) WithoutScripts() {
	tab.t.Helper()
	call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// TimeZone puts the browser elsewhere.
func (tab *Tab) TimeZone(name string) {
	tab.t.Helper()
	call(tab, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name})
}

// Language is what the browser asks for: tags in the order of preference, without weights.
func (tab *Tab) Language(tag string) {
	tab.t.Helper()
	agent := Eval[string](tab, `navigator.userAgent`)
	call(tab, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: agent, AcceptLanguage: tag})
}

// ClockOff makes the browser's clock wrong from the next page on.
func (tab *Tab) ClockOff(by time.Duration) {
	tab.t.Helper()
	call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(`{
		const Right = Date;
		globalThis.clockOff = %d;
		globalThis.Date = class Date extends Right {
			constructor(...a) { if (a.length) super(...a); else super(Right.now() + clockOff) }
			static now() { return Right.now() + clockOff }
		};
		const origin = performance.timeOrigin + clockOff;
		Object.defineProperty(performance, "timeOrigin", {get: () => origin});
	}`, by.Milliseconds())})
}

// Picture is the whole page as PNG.
func (tab *Tab) Picture() []byte {
	tab.t.Helper()
	raw, err := chromedp.Run(tab.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		tab.t.Fatalf("picture: %v", err)
	}
	return raw
}

// Slow makes the network of the tab slow.
func (tab *Tab) Slow(latency time.Duration) {
	tab.t.Helper()
	call(tab, network.OverrideNetworkState, network.OverrideNetworkStateParams{
		Latency: float64(latency.Milliseconds()), DownloadThroughput: -1, UploadThroughput: -1,
	})
}
