package redfish_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
)

const (
	user     = "ironhold"
	password = "a password for BMCs"
)

// bmc is a fake one over a tree of resources as its kind of BMC has it, with faults to be switched on.
type bmc struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	tree     map[string]map[string]any // by path without a slash at its end
	versions map[string]int            // of the ETags
	sessions map[string]string         // path of a session: its token
	changes  []string                  // what was changed, in order
	callers  map[string]bool           // correlation ids seen
	requests int
	logins   int
	tasks    map[string]*job

	// Faults, to be set before the first request.
	script      func(w http.ResponseWriter, r *http.Request, n int) bool // true: it has answered
	tags        string                                                   // "", header, body, required, broken
	ignoresBoot bool
	forgetsBoot bool   // when switched off
	asTasks     string // "": at once; else how tasks end: Completed, Exception
	powerLag    int    // looks until a new power state is to be seen
	loginsLast  int    // requests that a login lasts; 0: for ever
	left        map[string]int
	lagging     map[string]lag
}

type job struct {
	looks int
	do    func()
}

type lag struct {
	state string
	looks int
}

func newBMC(t *testing.T, kind string) *bmc {
	t.Helper()
	b := &bmc{
		t: t, tree: map[string]map[string]any{}, versions: map[string]int{}, sessions: map[string]string{}, callers: map[string]bool{},
		tasks: map[string]*job{}, left: map[string]int{}, lagging: map[string]lag{},
	}
	root := os.DirFS("testdata/" + kind)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		var v map[string]any
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		b.tree["/"+path.Dir(name)] = v
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Server = httptest.NewTLSServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *bmc) address() string { return b.Listener.Addr().String() }

func (b *bmc) fingerprint() string {
	sum := sha256.Sum256(b.Certificate().Raw)
	return hex.EncodeToString(sum[:])
}

// with changes a resource before the first request.
func (b *bmc) with(resource string, values map[string]any) *bmc {
	maps.Copy(b.tree[resource], values)
	return b
}

func (b *bmc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.requests++
	n, script := b.requests, b.script
	b.mu.Unlock()
	if script != nil && script(w, r, n) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.callers[r.Header.Get("X-Correlation-Id")] = true
	at := strings.TrimSuffix(r.URL.Path, "/")
	w.Header().Set("Content-Type", "application/json")
	switch {
	case at == "/redfish/v1/SessionService/Sessions" && r.Method == http.MethodPost:
		b.login(w, r)
	case at != "/redfish/v1" && !b.loggedIn(r):
		b.no(w, http.StatusUnauthorized, "Base.1.8.NoValidSession", "There is no valid session established with the implementation.")
	case r.Method == http.MethodDelete && b.sessions[at] != "":
		delete(b.sessions, at)
		w.WriteHeader(http.StatusNoContent)
	case b.tasks[at] != nil:
		b.task(w, b.tasks[at])
	case r.Method == http.MethodPatch && b.tree[at] != nil:
		b.patch(w, r, at)
	case r.Method == http.MethodPost && strings.HasSuffix(at, "/Actions/ComputerSystem.Reset"):
		b.reset(w, r, strings.TrimSuffix(at, "/Actions/ComputerSystem.Reset"))
	case r.Method == http.MethodGet && b.tree[at] != nil:
		b.settle(at)
		b.tag(w, at)
		_ = json.NewEncoder(w).Encode(b.tree[at])
	default:
		b.no(w, http.StatusNotFound, "Base.1.8.ResourceMissingAtURI", "The resource at the URI was not found.")
	}
}

func (b *bmc) no(w http.ResponseWriter, status int, id, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": "Base.1.8.GeneralError", "message": "A general error has occurred.",
		"@Message.ExtendedInfo": []any{map[string]any{"MessageId": id, "Message": message}},
	}})
}

func (b *bmc) login(w http.ResponseWriter, r *http.Request) {
	var v struct{ UserName, Password string }
	if json.NewDecoder(r.Body).Decode(&v) != nil || v.UserName != user || v.Password != password {
		b.no(w, http.StatusUnauthorized, "Base.1.8.ResourceAtUriUnauthorized", "Wrong credentials "+v.UserName+" "+v.Password)
		return
	}
	b.logins++
	at, token := "/redfish/v1/SessionService/Sessions/"+fmt.Sprint(b.logins), uuid.NewString()
	b.sessions[at] = token
	b.left[token] = b.loginsLast
	w.Header().Set("X-Auth-Token", token)
	w.Header().Set("Location", b.URL+at)
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"@odata.id": at})
}

func (b *bmc) loggedIn(r *http.Request) bool {
	token := r.Header.Get("X-Auth-Token")
	for at, t := range b.sessions {
		if t != token {
			continue
		}
		if b.loginsLast > 0 {
			if b.left[token]--; b.left[token] < 0 {
				delete(b.sessions, at)
				return false
			}
		}
		return true
	}
	return false
}

// etag is that of a resource; tag shows it in the BMC's way.
func (b *bmc) etag(at string) string { return fmt.Sprintf("%q", fmt.Sprint("v", b.versions[at])) }

func (b *bmc) tag(w http.ResponseWriter, at string) {
	switch b.tags {
	case "header", "required", "broken":
		w.Header().Set("ETag", b.etag(at))
	case "body":
		b.tree[at]["@odata.etag"] = b.etag(at)
	}
}

// matches answers when the If-Match of a request is not as this BMC wants it.
func (b *bmc) matches(w http.ResponseWriter, r *http.Request, at string) bool {
	given := r.Header.Get("If-Match")
	switch {
	case given == "" && (b.tags == "required" || b.tags == "body"):
		b.no(w, http.StatusPreconditionRequired, "Base.1.8.PreconditionRequired", "If-Match is required.")
	case given != "" && (b.tags == "broken" || b.tags != "" && given != b.etag(at)):
		b.no(w, http.StatusPreconditionFailed, "Base.1.8.PreconditionFailed", "The ETag supplied did not match.")
	default:
		return true
	}
	return false
}

func (b *bmc) patch(w http.ResponseWriter, r *http.Request, at string) {
	var v struct{ Boot map[string]any }
	if !b.matches(w, r, at) {
		return
	}
	if json.NewDecoder(r.Body).Decode(&v) != nil || len(v.Boot) == 0 {
		b.no(w, http.StatusBadRequest, "Base.1.8.MalformedJSON", "The request body was malformed.")
		return
	}
	b.changes = append(b.changes, fmt.Sprintf("boot %v %v", v.Boot["BootSourceOverrideEnabled"], v.Boot["BootSourceOverrideTarget"]))
	b.take(w, func() {
		if !b.ignoresBoot {
			maps.Copy(b.tree[at]["Boot"].(map[string]any), v.Boot)
			b.versions[at]++
		}
	})
}

func (b *bmc) reset(w http.ResponseWriter, r *http.Request, at string) {
	var v struct{ ResetType string }
	if b.tree[at] == nil || json.NewDecoder(r.Body).Decode(&v) != nil {
		b.no(w, http.StatusBadRequest, "Base.1.8.MalformedJSON", "The request body was malformed.")
		return
	}
	b.changes = append(b.changes, "reset "+v.ResetType)
	state := "On"
	if v.ResetType == "ForceOff" {
		state = "Off"
	}
	b.take(w, func() {
		b.lagging[at] = lag{state, b.powerLag}
		if state == "Off" && b.forgetsBoot {
			b.tree[at]["Boot"].(map[string]any)["BootSourceOverrideEnabled"] = "Disabled"
		}
	})
}

// settle lets a new power state be seen, in its time.
func (b *bmc) settle(at string) {
	l, ok := b.lagging[at]
	switch {
	case !ok:
	case l.looks > 0:
		b.lagging[at] = lag{l.state, l.looks - 1}
		b.tree[at]["PowerState"] = "Powering" + l.state
	default:
		delete(b.lagging, at)
		b.tree[at]["PowerState"] = l.state
	}
}

// take does something at once, or as a task that is done at the third look.
func (b *bmc) take(w http.ResponseWriter, do func()) {
	if b.asTasks == "" {
		do()
		w.WriteHeader(http.StatusNoContent)
		return
	}
	at := "/redfish/v1/TaskService/TaskMonitors/" + fmt.Sprint(len(b.tasks)+1)
	b.tasks[at] = &job{looks: 2, do: do}
	w.Header().Set("Location", b.URL+at)
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(map[string]any{"TaskState": "New"})
}

func (b *bmc) task(w http.ResponseWriter, j *job) {
	if j.looks--; j.looks >= 0 {
		w.WriteHeader(http.StatusAccepted)
		_ = json.NewEncoder(w).Encode(map[string]any{"TaskState": "Running"})
		return
	}
	if j.do != nil && b.asTasks == "Completed" {
		j.do()
		j.do = nil
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"TaskState": b.asTasks})
}

// changed is what was changed so far, and open how many sessions are.
func (b *bmc) changed() (what string, open int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.changes, "; "), len(b.sessions)
}
