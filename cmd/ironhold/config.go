package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
)

// showConfig prints each setting with its value in force. A value that makes no sense is an error, as
// at the start of serve.
func showConfig(_ context.Context, c *call) error {
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	if _, err := c.load(); err != nil {
		return err
	}
	all := map[string]string{}
	var lines []string
	for _, e := range settingsTable() {
		text, set := c.env(e.name)
		text = strings.TrimSpace(text)
		if !set || text == "" && e.name != "METRICS_ADDR" {
			text = e.fallback
		}
		all[e.name] = withoutSecrets(e.name, text)
		lines = append(lines, fmt.Sprintf("%s=%s", e.name, all[e.name]))
	}
	return c.print(all, strings.Join(lines, "\n"))
}

// hidden stands for a secret that is set.
const hidden = "(set)"

// withoutSecrets is a setting's value without what must not be seen: the whole of it when its name says
// that it is a secret, and in an address the password and whatever it passes along.
func withoutSecrets(name, value string) string {
	if value == "" {
		return ""
	}
	for _, word := range []string{"PASSWORD", "SECRET", "TOKEN", "KEY"} {
		for part := range strings.SplitSeq(name, "_") {
			if part == word && name != "PASSWORD_LIST" {
				return hidden
			}
		}
	}
	if !strings.Contains(value, "://") {
		return value
	}
	u, err := url.Parse(value)
	if err != nil {
		return hidden
	}
	if q := u.Query(); len(q) > 0 {
		for k := range q {
			if k != "sslmode" && k != "host" {
				q.Set(k, "xxxxx")
			}
		}
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}
