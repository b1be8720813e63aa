package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"ironhold/notify/outbound"
	"ironhold/notify/sign"
	"ironhold/provision/driver"
)

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 64 << 10

// maxSecrets are in use at once: the new one and the one that it replaces.
const maxSecrets = 2

// Config says where the provisioner is.
type Config struct {
	URL     string        // https, or http to a network of Options.Allow
	Secrets []sign.Secret // the newest first; each message is signed with all
	Source  string        // the portal's address, the source of the messages
	// Options of the client; MaxAnswer is the driver's own.
	Options outbound.Options
}

// Driver asks one provisioner. It is safe for concurrent use.
type Driver struct {
	cfg    Config
	client *outbound.Client
}

// New checks the configuration: the error says which part cannot be used, and never a secret.
func New(c Config) (*Driver, error) {
	if n := len(c.Secrets); n < 1 || n > maxSecrets {
		return nil, fmt.Errorf("one or two secrets are needed, not %d", n)
	}
	c.Options.MaxAnswer = maxAnswer
	d := &Driver{cfg: c, client: outbound.New(c.Options)}
	if _, err := d.client.CheckURL(c.URL); err != nil {
		return nil, err
	}
	return d, nil
}

// ParseSecrets reads one secret, or the new and the old one with a space or comma between them.
func ParseSecrets(text string) ([]sign.Secret, error) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	if len(parts) == 0 || len(parts) > maxSecrets {
		return nil, errors.New("one secret, or the new and the old one with a comma between them")
	}
	secrets := make([]sign.Secret, 0, len(parts))
	for _, p := range parts {
		s, err := sign.ParseSecret(p)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, s)
	}
	return secrets, nil
}

// Name of the driver.
func (d *Driver) Name() string { return "webhook" }

// Begin hands the task over. Sent again, the message has the same id and body.
func (d *Driver) Begin(ctx context.Context, t driver.Task) (driver.Progress, error) {
	e, err := d.event(t, typePrefix+string(t.Kind))
	if err != nil {
		return driver.Progress{}, driver.Permanent(err)
	}
	e.ID = id(t)
	a, err := d.send(ctx, e)
	if err != nil {
		return driver.Progress{}, err
	}
	if len(a.Body) == 0 { // taken, and nothing to say yet
		return driver.Progress{State: driver.Running, Step: StepAccepted, Percent: -1}, nil
	}
	return progress(a, t)
}

// Look asks how far the task is.
func (d *Driver) Look(ctx context.Context, t driver.Task) (driver.Progress, error) {
	e, err := d.event(t, typeStatus)
	if err != nil {
		return driver.Progress{}, driver.Permanent(err)
	}
	// A receiver must not take the second question for a repetition of the first.
	e.ID = uuid.NewString()
	a, err := d.send(ctx, e)
	if err != nil {
		return driver.Progress{}, err
	}
	return progress(a, t)
}

// send signs a message, posts it and sorts what came back: an answer from 200 to 299, or an error that
// says whether trying again helps.
func (d *Driver) send(ctx context.Context, e sign.Event) (outbound.Answer, error) {
	body, err := e.Body()
	if err != nil {
		return outbound.Answer{}, driver.Permanent(err)
	}
	h := http.Header{}
	h.Set("Content-Type", sign.ContentType)
	h.Set("Accept", "application/json")
	sign.Sign(h, e.ID, time.Now(), body, d.cfg.Secrets...) //nolint:forbidigo // the receiver compares it with its own clock
	a, err := d.client.Post(ctx, d.cfg.URL, h, body)
	switch {
	case err != nil:
		// The reason and not the error: what it says of the network inside is for nobody's page.
		return a, &Unanswered{outbound.Why(err), err}
	case !a.OK():
		return a, refused(a)
	}
	return a, nil
}

// Unanswered says that the provisioner could not be asked.
type Unanswered struct {
	Why outbound.Reason
	err error
}

func (e *Unanswered) Error() string { return "the provisioner gave no answer: " + string(e.Why) }

func (e *Unanswered) Unwrap() error { return e.err }
