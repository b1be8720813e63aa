//go:build node

package notify_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"ironhold/notify/sign"
)

// A receiver in another language verifies what was delivered with a public library, also while the
// secret is being changed, and refuses it with another secret. Run by make test-node.
func TestNodeVerifies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cmd := exec.CommandContext(t.Context(), "node", "testdata/receiver/receiver.mjs")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewReader(out)
	var said struct {
		Port     int
		OK       bool
		Again    bool
		Error    string
		Type     string
		Subject  string
		Sequence int
	}
	next := func() {
		t.Helper()
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		said.OK, said.Again, said.Error = false, false, ""
		if err := json.Unmarshal(line, &said); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	next()
	id, first := b.endpoint(fmt.Sprintf("http://127.0.0.1:%d/", said.Port))
	trust := func(s sign.Secret) {
		t.Helper()
		_, _ = io.WriteString(in, s.Text()+"\n")
		next()
	}
	trust(first)
	b.work()
	hold := b.hold(b.org)
	next()
	if !said.OK || said.Type != "ironhold.hold.held" || said.Subject != "holds/"+hold.String() || said.Sequence != 1 {
		t.Errorf("%+v", said)
	}
	// During the change both secrets do.
	second, _, err := b.hooks.Rotate(t.Context(), actor, b.org, id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.book.Extend(t.Context(), actor, b.scope(), hold, "e"); err != nil {
		t.Fatal(err)
	}
	next()
	if !said.OK || said.Sequence != 2 {
		t.Errorf("with the old secret: %+v", said)
	}
	trust(second)
	if _, _, err := b.book.Convert(t.Context(), actor, b.scope(), hold); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the end of the hold, the beginning of the service
		if next(); !said.OK || said.Again {
			t.Errorf("with the new secret: %+v", said)
		}
	}
	trust(sign.NewSecret())
	b.hold(b.org)
	if next(); said.OK {
		t.Error("a message was taken with a foreign secret")
	}
}
