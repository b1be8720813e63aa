package web

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/migrations/pgtest/fixture"
)

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g"

// What is chosen at the confirmation is what is installed, and confirming again does not change it.
func TestSetupIsChosenAtTheConfirmation(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 3)
	systems := s.do(customer, "GET", "/api/v1/operating-systems", nil).want(200)
	if systems.at("items.0.code") == systems.at("items.1.code") {
		t.Fatalf("systems: %s", systems.body)
	}
	path := "/api/v1/holds/" + s.held(customer, "{}") + "/convert"
	bad := s.do(customer, "POST", path, body{"os": "plan9", "ssh_keys": []string{publicKey, "-----BEGIN OPENSSH PRIVATE KEY-----", uuid.NewString()}}).problem(422, "invalid")
	for _, field := range []string{`"os"`, `"ssh_keys[1]"`} {
		if !strings.Contains(string(bad.body), field) {
			t.Errorf("%s is not named: %s", field, bad.body)
		}
	}
	s.do(customer, "POST", path, body{"ssh_keys": []string{uuid.NewString()}}).problem(422, "invalid")
	second := systems.at("items.1.code")
	sold := s.do(customer, "POST", path, body{"os": second, "ssh_keys": []string{publicKey + " anna", publicKey}}).want(201)
	if sold.at("os") != second || sold.at("ssh_keys.0") != publicKey || sold.at("provisioning.kind") != "install" || sold.at("provisioning.state") != "queued" {
		t.Errorf("sold: %s", sold.body)
	}
	again := s.do(customer, "POST", path, nil).want(200)
	if again.text("id") != sold.text("id") || again.at("os") != second {
		t.Errorf("again: %s", again.body)
	}
	if n := len(again.at("ssh_keys").([]any)); n != 1 {
		t.Errorf("%d keys, not 1", n)
	}
	// A colleague of another organisation sees and chooses nothing.
	s.do(foreign, "POST", path, body{"os": second}).problem(404, "not-found")
	s.do(foreign, "GET", "/api/v1/services/"+sold.text("id"), nil).problem(404, "not-found")
}

func TestEndAtATime(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fixture.Equal(t, s.owner, "A", 1)
	sold := s.do(customer, "POST", "/api/v1/holds/"+s.held(customer, "{}")+"/convert", nil).want(201)
	path := "/api/v1/services/" + sold.text("id")
	tag := s.do(customer, "GET", path, nil).want(200).header.Get("ETag")
	s.do(customer, "POST", path+"/end", body{"at": "2020-01-01T00:00:00Z"}).problem(422, "invalid")
	s.do(customer, "POST", path+"/end", body{"at": "tomorrow"}).problem(422, "invalid")
	at := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	planned := s.do(customer, "POST", path+"/end", body{"at": at.Format(time.RFC3339), "reason": "moving"}).want(200)
	if planned.text("end_at") != at.Format(time.RFC3339) || planned.text("state") != "active" {
		t.Errorf("planned: %s", planned.body)
	}
	if again := s.do(customer, "GET", path, nil, "If-None-Match", tag).want(200); again.text("end_at") == "" {
		t.Errorf("the ETag did not change: %s", again.body)
	}
	if kept := s.do(customer, "POST", path+"/keep", nil).want(200); kept.at("end_at") != nil {
		t.Errorf("kept: %s", kept.body)
	}
	ended := s.do(customer, "POST", path+"/end", nil).want(200)
	if ended.text("state") != "ended" || ended.at("provisioning.kind") != "wipe" || ended.at("end_at") != nil {
		t.Errorf("ended: %s", ended.body)
	}
	s.do(customer, "POST", path+"/keep", nil).problem(409, "service-ended")
	s.do(customer, "POST", path+"/end", body{"at": at.Format(time.RFC3339)}).problem(409, "service-ended")
	if list := s.do(customer, "GET", "/api/v1/services", nil).want(200); list.at("items.0.provisioning.kind") != "wipe" {
		t.Errorf("list: %s", list.body)
	}
}
