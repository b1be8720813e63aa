package views

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"ironhold/views/i18n"
)

// Server is a machine, or a group of equal ones, as a buyer compares it.
type Server struct {
	Tag                  string // "" for a group
	Site, SiteName       string
	DeliveryHours        int // it is ready within so many of the confirmation; 0: on request
	Vendor, Model        string
	CPU                  string
	CPUCount             int
	Cores, Threads       int
	RAMGB                int
	ECC                  bool
	Drives               []Drive
	NVMeGB, SSDGB, HDDGB int
	GPU                  string
	NICMbps              int
	Features             []string
	Price, Setup         Money
}

// Drive is one drive; Kind is "nvme", "ssd" or "hdd".
type Drive struct {
	Kind string
	GB   int
}

func (s Server) processor() string {
	if s.CPUCount > 1 {
		return strconv.Itoa(s.CPUCount) + " × " + s.CPU
	}
	return s.CPU
}

func (s Server) maker() string { return strings.TrimSpace(s.Vendor + " " + s.Model) }

func (s Server) place(ctx context.Context) string {
	if s.SiteName == "" || s.SiteName == s.Site {
		return s.Site
	}
	return t(ctx, "server.place", "name", s.SiteName, "code", s.Site)
}

// delivery is within what time it is ready: "within 4 hours".
func (s Server) delivery(ctx context.Context) string { return deliveryText(ctx, s.DeliveryHours) }

func deliveryText(ctx context.Context, hours int) string {
	switch {
	case hours == 0:
		return t(ctx, "delivery.ask")
	case hours >= 48 && hours%24 == 0:
		return t(ctx, "delivery.days", "n", hours/24)
	}
	return t(ctx, "delivery.hours", "n", hours)
}

// delivered is the same as a line of its own: "Ready within 4 hours".
func (s Server) delivered(ctx context.Context) string {
	return t(ctx, "delivery.ready", "within", s.delivery(ctx))
}

func (s Server) cores(ctx context.Context) string {
	text := t(ctx, "server.cores", "n", s.Cores)
	if s.Threads > 0 {
		text += ", " + t(ctx, "server.threads", "n", s.Threads)
	}
	return text
}

func (s Server) memory(ctx context.Context) string {
	size := i18n.Int(ctx, int64(s.RAMGB)) + "\u00a0GB"
	if s.ECC {
		return size + " ECC"
	}
	return size
}

// drives groups equal drives: "2 × 512 GB NVMe".
func (s Server) drives(ctx context.Context) []string {
	var kinds []Drive
	count := map[Drive]int{}
	for _, d := range s.Drives {
		if count[d] == 0 {
			kinds = append(kinds, d)
		}
		count[d]++
	}
	if len(kinds) == 0 {
		for _, d := range []Drive{{"nvme", s.NVMeGB}, {"ssd", s.SSDGB}, {"hdd", s.HDDGB}} {
			if d.GB > 0 {
				kinds, count[d] = append(kinds, d), 1
			}
		}
	}
	order := []string{"nvme", "ssd", "hdd"}
	slices.SortStableFunc(kinds, func(a, b Drive) int {
		return slices.Index(order, a.Kind) - slices.Index(order, b.Kind)
	})
	var out []string
	for _, d := range kinds {
		text := i18n.Size(ctx, d.GB) + " " + t(ctx, "drive."+d.Kind)
		if count[d] > 1 {
			text = strconv.Itoa(count[d]) + "\u00a0×\u00a0" + text
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return []string{t(ctx, "server.no_drives")}
	}
	return out
}

func (s Server) network(ctx context.Context) string {
	if s.NICMbps == 0 {
		return t(ctx, "common.unknown")
	}
	return i18n.Speed(ctx, s.NICMbps)
}

func (s Server) setup(ctx context.Context) string {
	if s.Setup.Minor == 0 {
		return t(ctx, "server.no_setup")
	}
	return t(ctx, "server.setup", "amount", money(ctx, s.Setup))
}
