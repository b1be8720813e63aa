package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ironhold/notify/outbound"
	"ironhold/provision/driver"
)

// StepAccepted is the step of a task that the provisioner took without saying more.
const StepAccepted = "accepted"

// Bounds of what is kept of an answer.
const (
	maxDetail = 500           // characters
	maxWait   = 1 * time.Hour // of a Retry-After
)

// steps are codes, not texts: they become part of message keys.
var steps = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// answer is what the provisioner says.
type answer struct {
	State   string   `json:"state"`
	Step    string   `json:"step"`
	Percent *float64 `json:"percent"`
	Detail  string   `json:"detail"`
	// Said by careful provisioners: an answer about something else is none.
	Service string `json:"service"`
	Attempt int    `json:"attempt"`
}

// progress reads an answer to a message about t. What cannot be read says nothing about the machine, and
// so is no failure of the task.
func progress(a outbound.Answer, t driver.Task) (driver.Progress, error) {
	var v answer
	switch err := json.Unmarshal(a.Body, &v); {
	case a.Truncated:
		return driver.Progress{}, fmt.Errorf("the provisioner's answer has more than %d bytes", maxAnswer)
	case err != nil:
		return driver.Progress{}, fmt.Errorf("the provisioner's answer (%d) is not the JSON of a progress: %q", a.Status, clean(string(a.Body), 80))
	case v.Service != "" && v.Service != t.Service || v.Attempt != 0 && v.Attempt != t.Attempt:
		return driver.Progress{}, fmt.Errorf("the provisioner answered about attempt %d of service %q", v.Attempt, clean(v.Service, 80))
	}
	p := driver.Progress{State: driver.State(v.State), Step: v.Step, Percent: -1, Detail: clean(v.Detail, maxDetail)}
	switch p.State {
	case driver.Running, driver.Done, driver.Failed:
	default:
		return driver.Progress{}, fmt.Errorf("the provisioner's state %q is not running, done or failed", clean(v.State, 80))
	}
	if !steps.MatchString(p.Step) {
		p.Step = string(p.State)
	}
	if v.Percent != nil && *v.Percent >= 0 && *v.Percent <= 100 {
		p.Percent = int(*v.Percent)
	}
	return p, nil
}

// refused sorts a status outside 200 to 299. Permanent is what the provisioner says of this task. What
// says that the two sides are not set up for each other (a wrong secret, a path that is gone, a
// redirect) or that the time is bad holds for every task: to end each customer's service on it would
// make a wrong setting a disaster.
func refused(a outbound.Answer) error {
	text := fmt.Sprintf("the provisioner answered %d", a.Status)
	if s := clean(string(a.Body), maxDetail); s != "" {
		text += ": " + s
	}
	err := &Refused{Status: a.Status, text: text}
	switch a.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusLocked, http.StatusTooEarly, http.StatusTooManyRequests:
	default:
		if a.Status >= 400 && a.Status <= 499 {
			return driver.Permanent(err)
		}
	}
	if d := retryAfter(a.Header); d > 0 {
		return driver.Wait(err, d)
	}
	return err
}

// Refused is an answer with a status outside 200 to 299.
type Refused struct {
	Status int
	text   string
}

func (e *Refused) Error() string { return e.text }

// retryAfter reads the header in both of its forms; 0 when there is none or it makes no sense.
func retryAfter(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	d := time.Duration(0)
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		d = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		d = time.Until(at)
	}
	return min(max(d, 0), maxWait)
}

// clean makes one line of at most n characters of a text from outside.
func clean(s string, n int) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if r := []rune(s); len(r) > n {
		s = string(r[:n-1]) + "…"
	}
	return s
}
