package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ironhold/accounts"
	"ironhold/holds"
	"ironhold/notify/outbound"
	"ironhold/notify/smtp"
	"ironhold/provision"
	"ironhold/provision/redfish"
	"ironhold/rollout"
	"ironhold/web"
)

// settings are read from the environment; see settingsTable for each.
type settings struct {
	DatabaseURL               string
	MigrateURL                string
	DataFolder                string
	ListenAddr                string
	MetricsAddr               string
	BaseURL                   string
	TrustedProxies            []netip.Prefix
	HoldDuration              time.Duration
	HoldExtension             time.Duration
	HoldCeiling               time.Duration
	SweepInterval             time.Duration
	WalkLimit                 int
	LostLimit                 int
	LockTimeout               time.Duration
	StopNotice                time.Duration
	PoolInteractive           int
	PoolBackground            int
	OrderRate                 int
	FlagProvider              string
	RemoteFlags               string
	OutboundAllow             []netip.Prefix
	Mail                      smtp.Config
	KeepAttempts, KeepHistory int // months; 0: for ever
	MailBefore                time.Duration
	StaffFactor               bool
	Company                   company
	PasswordList              string
	ProvisionDriver           string
	ProvisionAlarm            time.Duration
	Provisioner               provisioner
	LogLevel                  slog.Level
}

// company is the sign-in of the company; see web.Company.
type company struct{ Name, Issuer, ID, Secret string }

// site is it as the web server takes it; nil for none.
func (c company) site() *web.Company {
	if c.Issuer == "" {
		return nil
	}
	return &web.Company{Name: c.Name, Issuer: c.Issuer, ID: c.ID, Secret: c.Secret}
}

// setting is one line of the table: name, default, meaning, and how its text is taken.
type setting struct {
	name     string
	fallback string
	meaning  string
	set      func(s *settings, text string) error
}

// settingsTable is the one place that knows the settings; help and README show it.
func settingsTable() []setting {
	return []setting{
		{"DATABASE_URL", "", "PostgreSQL 15 or later, as postgres://...; empty: the embedded server of the data folder",
			func(s *settings, v string) error { s.DatabaseURL = v; return databaseURL(v) }},
		{"MIGRATE_DATABASE_URL", "", "address for migrations, when DATABASE_URL is a login that owns nothing or a pooler",
			func(s *settings, v string) error { s.MigrateURL = v; return databaseURL(v) }},
		{"IRONHOLD_DATA", "./.ironhold", "data folder of the embedded server",
			func(s *settings, v string) error { s.DataFolder = v; return nil }},
		{"IRONHOLD_PG_BIN", "", "folder of the PostgreSQL programs for the embedded server; empty: looked for",
			func(*settings, string) error { return nil }}, // read where the programs are looked for
		{"LISTEN_ADDR", "127.0.0.1:8080", "address of pages and API",
			func(s *settings, v string) error { s.ListenAddr = v; return address(v) }},
		{"METRICS_ADDR", "127.0.0.1:9090", "address of Prometheus metrics, apart from the pages; empty: off",
			func(s *settings, v string) error { s.MetricsAddr = v; return address(v) }},
		{"BASE_URL", "", "the address that people type; https:// turns on Secure cookies and HSTS; empty: http and LISTEN_ADDR",
			func(s *settings, v string) error { s.BaseURL = strings.TrimSuffix(v, "/"); return baseURL(v) }},
		{"TRUSTED_PROXIES", "", "networks of proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8, 2001:db8::/32; empty: none, and behind a proxy all people count as one network",
			func(s *settings, v string) error { return prefixes(&s.TrustedProxies, v) }},
		{"HOLD_DURATION", "15m", "how long a hold lasts",
			func(s *settings, v string) error { return duration(&s.HoldDuration, v, time.Second, 7*24*time.Hour) }},
		{"HOLD_EXTENSION", "15m", "what the one extension adds",
			func(s *settings, v string) error { return duration(&s.HoldExtension, v, time.Second, 7*24*time.Hour) }},
		{"HOLD_CEILING", "45m", "time that one organisation may hold one machine within 24 hours; when it is not set, at least one hold and its extension",
			func(s *settings, v string) error { return duration(&s.HoldCeiling, v, time.Second, 14*24*time.Hour) }},
		{"SWEEP_INTERVAL", "1m", "how often overdue holds are swept; a deadline counts without it",
			func(s *settings, v string) error { return duration(&s.SweepInterval, v, time.Second, time.Hour) }},
		{"WALK_LIMIT", "25", "candidates that one look at the fleet takes",
			func(s *settings, v string) error { return number(&s.WalkLimit, v, 1, 1000) }},
		{"LOST_LIMIT", "5", "candidates that an order may lose to others before it is told so",
			func(s *settings, v string) error { return number(&s.LostLimit, v, 1, 1000) }},
		{"LOCK_TIMEOUT", "2s", "how long a statement waits for a lock before the answer is busy",
			func(s *settings, v string) error {
				return duration(&s.LockTimeout, v, 10*time.Millisecond, time.Minute)
			}},
		{"STOP_NOTICE", "1s", "how long /readyz says no before a process that was asked to stop takes no more requests; 0: not at all",
			func(s *settings, v string) error { return duration(&s.StopNotice, v, 0, 3*time.Second) }},
		{"POOL_INTERACTIVE", "30", "database connections for pages, API and orders",
			func(s *settings, v string) error { return number(&s.PoolInteractive, v, 2, 1000) }},
		{"POOL_BACKGROUND", "6", "database connections for the workers",
			func(s *settings, v string) error { return number(&s.PoolBackground, v, 3, 1000) }},
		{"ORDER_RATE", "0", "orders per token or person and minute; 0: no throttle",
			func(s *settings, v string) error { return number(&s.OrderRate, v, 0, 1_000_000) }},
		{"FLAG_PROVIDER", "postgresql", "where pages ask whether ordering is on: postgresql, or ofrep for a server of OFREP_URL; orders are decided by the database in either case",
			func(s *settings, v string) error { s.FlagProvider = v; return flagProvider(v) }},
		{"OFREP_URL", "", "the flag server of FLAG_PROVIDER=ofrep, as https://flags.example",
			func(s *settings, v string) error { s.RemoteFlags = v; return rollout.CheckRemote(v) }},
		{"OUTBOUND_ALLOW", "", "networks that webhooks may go to although they are not public, such as 10.2.0.0/16; http goes there alone; empty: none",
			func(s *settings, v string) error { return prefixes(&s.OutboundAllow, v) }},
		{"SMTP_ADDR", "", "the mail server as host:port; empty: no mail is sent",
			func(s *settings, v string) error { s.Mail.Addr = v; return smtp.CheckAddr(v) }},
		{"SMTP_SECURITY", smtp.StartTLS, "starttls (required, not tried), tls from the first byte, or none for a mail server on this machine",
			func(s *settings, v string) error { s.Mail.Security = v; return security(v) }},
		{"SMTP_USER", "", "user name at the mail server; empty: it asks for none",
			func(s *settings, v string) error { s.Mail.User = v; return nil }},
		{"SMTP_PASSWORD", "", "password at the mail server",
			func(s *settings, v string) error { s.Mail.Password = v; return nil }},
		{"MAIL_FROM", "", "the sender of mails, as Ironhold <no-reply@portal.example>; required with SMTP_ADDR",
			func(s *settings, v string) error { return sender(&s.Mail.From, v) }},
		{"MAIL_HOLD_WARNING", "5m", "how long before the end of a hold its holder gets a mail, but never in the first two thirds of its time",
			func(s *settings, v string) error { return duration(&s.MailBefore, v, time.Second, 24*time.Hour) }},
		{"KEEP_ATTEMPTS", "0", "months that attempts are kept, then they move to the schema archive; 0: for ever",
			func(s *settings, v string) error { return number(&s.KeepAttempts, v, 0, 1200) }},
		{"KEEP_HISTORY", "0", "months that the history of holds, services and machines is kept, likewise; 0: for ever",
			func(s *settings, v string) error { return number(&s.KeepHistory, v, 0, 1200) }},
		{"STAFF_SECOND_FACTOR", "required", "required: staff need a passkey or an app for codes besides a password; optional: they may; with --demo optional when it is not set",
			func(s *settings, v string) error { return factorRule(&s.StaffFactor, v) }},
		{"OIDC_ISSUER", "", "the company's own sign-in for staff, by OpenID Connect, as https://login.example; empty: none",
			func(s *settings, v string) error { s.Company.Issuer = v; return web.CheckIssuer(v) }},
		{"OIDC_CLIENT_ID", "", "this site's name at OIDC_ISSUER, where /sign-in/company/back below BASE_URL is its address to come back to",
			func(s *settings, v string) error { s.Company.ID = v; return nil }},
		{"OIDC_CLIENT_SECRET", "", "this site's secret at OIDC_ISSUER",
			func(s *settings, v string) error { s.Company.Secret = v; return nil }},
		{"OIDC_NAME", "the company account", "how the button to OIDC_ISSUER calls it, after: Sign in with",
			func(s *settings, v string) error { s.Company.Name = v; return nil }},
		{"PASSWORD_LIST", "", "file of passwords that were stolen elsewhere, which nobody may choose: SHA-1 in hexadecimal, one a line, sorted, anything after a colon; empty: the short list in the program alone",
			func(s *settings, v string) error { s.PasswordList = v; return accounts.CheckBreached(v) }},
		{"PROVISION_DRIVER", provision.Manual, "who installs and wipes: manual (people, on the operators' board), simulated (nobody, in a trial), webhook (the provisioner of PROVISION_URL) or redfish (the machines' BMCs)",
			func(s *settings, v string) error { s.ProvisionDriver = v; return provisionDriver(v) }},
		{"PROVISION_ALARM", "1h", "after how long an installation or a wipe that is not finished is an alarm on the operators' board",
			func(s *settings, v string) error { return duration(&s.ProvisionAlarm, v, time.Minute, 30*24*time.Hour) }},
		{"PROVISION_URL", "", "the provisioner that installs and wipes, as https://provisioner.example/ironhold",
			func(s *settings, v string) error { s.Provisioner.URL = v; return nil }}, // checked with the networks
		{"PROVISION_SECRET", "", "what signs messages to the provisioner, whsec_ and base64; while it is changed, the new and the old one with a comma between them",
			func(s *settings, v string) error { return provisionSecrets(&s.Provisioner.Secrets, v) }},
		{"PROVISION_ALLOW", "", "networks that the provisioner and BMCs may be in although they are not public, such as 10.9.0.0/16; http goes there alone; empty: none",
			func(s *settings, v string) error { return prefixes(&s.Provisioner.Allow, v) }},
		{"REDFISH_USER", "", "user name at the BMCs, with PROVISION_DRIVER=redfish",
			func(s *settings, v string) error { s.Provisioner.RedfishUser = v; return nil }},
		{"REDFISH_PASSWORD", "", "password at the BMCs",
			func(s *settings, v string) error { s.Provisioner.RedfishPassword = v; return nil }},
		{"REDFISH_BOOT", redfish.Pxe, "how machines start from the network: Pxe or UefiHttp",
			func(s *settings, v string) error { s.Provisioner.RedfishBoot = v; return redfishBoot(v) }},
		{"LOG_LEVEL", "info", "debug, info, warn or error",
			func(s *settings, v string) error { return level(&s.LogLevel, v) }},
	}
}

// load reads the settings. The error names the variable that cannot be used.
func (a *app) load() (settings, error) {
	var s settings
	ceilingSet := false
	for _, e := range settingsTable() {
		text, set := a.env(e.name)
		text = strings.TrimSpace(text)
		// Set to nothing is not set, except where nothing means off.
		if !set || (text == "" && e.name != "METRICS_ADDR") {
			text, set = e.fallback, false
		}
		ceilingSet = ceilingSet || (set && e.name == "HOLD_CEILING")
		if text == "" {
			continue
		}
		if err := e.set(&s, text); err != nil {
			return s, fmt.Errorf("%s: %w", e.name, err)
		}
	}
	if longest := s.HoldDuration + s.HoldExtension; !ceilingSet {
		s.HoldCeiling = max(s.HoldCeiling, longest)
	} else if s.HoldCeiling < s.HoldDuration {
		return s, fmt.Errorf("HOLD_CEILING: %s is shorter than HOLD_DURATION, %s: nothing could be held", s.HoldCeiling, s.HoldDuration)
	}
	if s.FlagProvider == remoteProvider && s.RemoteFlags == "" {
		return s, errors.New("OFREP_URL: is required with FLAG_PROVIDER=ofrep")
	}
	if s.Company.Issuer != "" && (s.Company.ID == "" || s.Company.Secret == "") {
		return s, errors.New("OIDC_CLIENT_ID, OIDC_CLIENT_SECRET: are required with OIDC_ISSUER")
	}
	if s.Mail.Addr != "" && s.Mail.From.Address == "" {
		return s, errors.New("MAIL_FROM: is required with SMTP_ADDR")
	}
	if err := s.Provisioner.complete(s.ProvisionDriver); err != nil {
		return s, err
	}
	return s, nil
}

// security checks how the connection to the mail server is protected.
func security(v string) error {
	switch v {
	case smtp.StartTLS, smtp.TLS, smtp.NoTLS:
		return nil
	}
	return fmt.Errorf("%q is not starttls, tls or none", v)
}

// factorRule reads whether staff must have a second factor.
func factorRule(to *bool, text string) error {
	if text != "required" && text != "optional" {
		return fmt.Errorf("%q is not required or optional", text)
	}
	*to = text == "required"
	return nil
}

func sender(to *mail.Address, text string) error {
	a, err := mail.ParseAddress(text)
	if err != nil {
		return fmt.Errorf("%q is not an address such as Ironhold <no-reply@portal.example>", text)
	}
	*to = *a
	return nil
}

// remoteProvider is the FLAG_PROVIDER that asks a server.
const remoteProvider = "ofrep"

func flagProvider(v string) error {
	if v != "postgresql" && v != remoteProvider {
		return fmt.Errorf("%q is not postgresql or ofrep", v)
	}
	return nil
}

// secure reports whether people come by https.
func (s settings) secure() bool { return strings.HasPrefix(s.BaseURL, "https://") }

// policy is the time that holds are given.
func (s settings) policy() holds.Policy {
	p := holds.DefaultPolicy()
	p.Duration, p.Extension, p.Ceiling = s.HoldDuration, s.HoldExtension, s.HoldCeiling
	return p
}

// outbound is the client for addresses that others chose.
func (s settings) outbound() *outbound.Client {
	return outbound.New(outbound.Options{Allow: s.OutboundAllow})
}

// settingsHelp prints the table for serve --help.
func settingsHelp(w io.Writer) {
	fmt.Fprint(w, "\nSettings (environment):\n")
	for _, e := range settingsTable() {
		text := e.meaning
		if e.fallback != "" {
			text += " (default " + e.fallback + ")"
		}
		fmt.Fprintf(w, "  %-22s %s\n", e.name, text)
	}
}

func duration(to *time.Duration, text string, least, most time.Duration) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		return fmt.Errorf("%q is not a time from %s to %s, such as 90s or 15m", text, short(least), short(most))
	}
	*to = d
	return nil
}

// short writes a duration without its zero parts.
func short(d time.Duration) string {
	s := strings.TrimSuffix(d.String(), "0s")
	if s = strings.TrimSuffix(s, "0m"); s == "" || strings.HasSuffix(s, "1") {
		return d.String()
	}
	return s
}

func number(to *int, text string, least, most int) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return fmt.Errorf("%q is not a whole number from %d to %d", text, least, most)
	}
	*to = n
	return nil
}

func level(to *slog.Level, text string) error {
	switch text = strings.ToLower(text); text {
	case "debug", "info", "warn", "error":
		return to.UnmarshalText([]byte(text))
	}
	return fmt.Errorf("%q is not debug, info, warn or error", text)
}

func address(text string) error {
	_, port, err := net.SplitHostPort(text)
	if n, err2 := strconv.Atoi(port); err != nil || err2 != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is not host:port, such as 127.0.0.1:8080", text)
	}
	return nil
}

// prefixes reads networks, and single addresses as networks of one, with commas between them.
func prefixes(to *[]netip.Prefix, text string) error {
	*to = nil
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		p, err := netip.ParsePrefix(part)
		if addr, err2 := netip.ParseAddr(part); err2 == nil {
			p, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return fmt.Errorf("%q is no network such as 10.0.0.0/8", part)
		}
		*to = append(*to, p.Masked())
	}
	return nil
}

func baseURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil || u.Fragment != "" {
		return fmt.Errorf("%q is not an address such as https://portal.example.com", text)
	}
	return nil
}
