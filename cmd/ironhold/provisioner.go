package main

import (
	"errors"
	"fmt"
	"net/netip"

	"ironhold/notify/outbound"
	"ironhold/notify/sign"
	"ironhold/provision"
	"ironhold/provision/driver"
	"ironhold/provision/redfish"
	"ironhold/provision/webhook"
)

// Names of the drivers that reach outside.
const (
	webhookDriver = "webhook"
	redfishDriver = "redfish"
)

// provisioner is how machines are reached.
type provisioner struct {
	URL             string
	Secrets         []sign.Secret
	Allow           []netip.Prefix
	RedfishUser     string
	RedfishPassword string
	RedfishBoot     string
}

func provisionDriver(name string) error {
	switch name {
	case provision.Manual, simulatedDriver, webhookDriver, redfishDriver:
		return nil
	}
	return fmt.Errorf("%q is not manual, simulated, webhook or redfish", name)
}

func provisionSecrets(to *[]sign.Secret, text string) (err error) {
	*to, err = webhook.ParseSecrets(text)
	return err
}

func redfishBoot(v string) error {
	if v != redfish.Pxe && v != redfish.UefiHTTP {
		return fmt.Errorf("%q is not %s or %s", v, redfish.Pxe, redfish.UefiHTTP)
	}
	return nil
}

// complete says which variable is missing for the driver that was chosen; half a provisioner or half a
// login is never meant.
func (p provisioner) complete(name string) error {
	switch {
	case p.URL == "" && name == webhookDriver:
		return errors.New("PROVISION_URL: is required with PROVISION_DRIVER=webhook")
	case p.RedfishUser == "" && name == redfishDriver:
		return errors.New("REDFISH_USER: is required with PROVISION_DRIVER=redfish")
	case p.URL != "" && len(p.Secrets) == 0:
		return errors.New("PROVISION_SECRET: is required with PROVISION_URL")
	case p.RedfishUser != "" && p.RedfishPassword == "":
		return errors.New("REDFISH_PASSWORD: is required with REDFISH_USER")
	}
	_, err := p.drivers("http://127.0.0.1")
	return err
}

// drivers are those that are set up, the chosen one and those that finish what they began before another
// was chosen. source is the portal's address.
func (p provisioner) drivers(source string) (list []driver.Driver, err error) {
	bmcs := redfish.Config{User: p.RedfishUser, Password: p.RedfishPassword, Boot: p.RedfishBoot, Allow: p.Allow}
	if p.URL != "" {
		d, err := webhook.New(webhook.Config{URL: p.URL, Secrets: p.Secrets, Source: source, Options: outbound.Options{Allow: p.Allow}})
		if err != nil {
			return nil, fmt.Errorf("PROVISION_URL: %w", err)
		}
		list, bmcs.Provisioner = append(list, d), d
	}
	if p.RedfishUser != "" {
		d, err := redfish.New(bmcs)
		if err != nil {
			return nil, fmt.Errorf("REDFISH_USER: %w", err)
		}
		list = append(list, d)
	}
	return list, nil
}
