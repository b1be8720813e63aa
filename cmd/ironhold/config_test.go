package main

import (
	"strings"
	"testing"
)

func TestConfigWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, want string }{
		{"DATABASE_URL", "postgres://app:hunter2@db.example:5432/ironhold?sslmode=require&password=hunter2", "postgres://app:xxxxx@db.example:5432/ironhold?password=xxxxx&sslmode=require"},
		{"DATABASE_URL", "postgres://app@%zz:hunter2", hidden},
		{"SMTP_PASSWORD", "hunter2", hidden}, {"OIDC_CLIENT_SECRET", "hunter2", hidden}, {"SMTP_PASSWORD", "", ""},
		{"LISTEN_ADDR", "127.0.0.1:8080", "127.0.0.1:8080"}, {"PASSWORD_LIST", "/etc/list", "/etc/list"},
	} {
		if got := withoutSecrets(c.name, c.value); got != c.want {
			t.Errorf("%s=%s: %s", c.name, c.value, got)
		}
	}
	// Whoever adds a setting with a secret: no value is printed that holds one.
	for _, e := range settingsTable() {
		value := "postgres://a:hunter2@x/?password=hunter2"
		secret := strings.Contains(e.meaning, "password at") || strings.Contains(e.meaning, "secret at") || strings.Contains(e.name, "URL")
		if secret && strings.Contains(withoutSecrets(e.name, value), "hunter2") {
			t.Errorf("%s is printed with its secret", e.name)
		}
	}
}
