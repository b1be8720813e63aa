package webhook

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"ironhold/notify/sign"
	"ironhold/provision/driver"
)

// Types of the messages.
const (
	typePrefix = "ironhold.provision." // followed by install or wipe
	typeStatus = typePrefix + "status"
)

// space is the name space of the ids: it only has to differ from everybody else's.
var space = uuid.MustParse("9d1f0c2e-7d3b-5c8a-8a43-3c1de0b6f5a7")

// data is what a message says; docs/provisioning-drivers.md explains each field.
type data struct {
	Service string   `json:"service"`
	Kind    string   `json:"kind"`
	Attempt int      `json:"attempt"`
	Machine machine  `json:"machine"`
	OS      string   `json:"os,omitempty"`
	Keys    []string `json:"ssh_keys,omitempty"`
}

type machine struct {
	AssetTag string `json:"asset_tag"`
	Site     string `json:"site"`
	Serial   string `json:"serial,omitempty"`
	Rack     string `json:"rack,omitempty"`
	BMC      *bmc   `json:"bmc,omitempty"`
}

type bmc struct {
	Address     string `json:"address"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

// event is the message of a task: without a time, since it is the same each time.
func (d *Driver) event(t driver.Task, kind string) (sign.Event, error) {
	m := data{
		Service: t.Service, Kind: string(t.Kind), Attempt: t.Attempt, OS: t.OS, Keys: t.Keys,
		Machine: machine{AssetTag: t.Machine.Tag, Site: t.Machine.Site, Serial: t.Machine.Serial, Rack: t.Machine.Rack},
	}
	if b := t.Machine.BMC; b.Address != "" {
		m.Machine.BMC = &bmc{b.Address, b.Fingerprint}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return sign.Event{}, fmt.Errorf("message of %s: %w", t.Service, err)
	}
	return sign.Event{Source: d.cfg.Source, Type: kind, Subject: "services/" + t.Service, Data: raw}, nil
}

// id is that of the message which begins a task.
func id(t driver.Task) string {
	return uuid.NewSHA1(space, fmt.Appendf(nil, "%s/%s/%d", t.Service, t.Kind, t.Attempt)).String()
}
