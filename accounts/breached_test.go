package accounts

import (
	"crypto/sha1" //nolint:gosec // the form in which such lists are published
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func listOf(t *testing.T, end string, passwords ...string) string {
	t.Helper()
	var lines []string
	for i, p := range passwords {
		lines = append(lines, fmt.Sprintf("%X:%d", sha1.Sum([]byte(p)), i*i*i)) //nolint:gosec // see above
	}
	slices.Sort(lines)
	path := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(path, []byte(strings.Join(lines, end)+end), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each entry is found, at the ends of the list too, and nothing else is.
func TestListOfStolenPasswords(t *testing.T) {
	t.Parallel()
	var stolen []string
	for i := range 500 {
		stolen = append(stolen, fmt.Sprintf("stolen password %d", i))
	}
	for _, n := range []int{1, 2, 3, 500} {
		for _, end := range []string{"\n", "\r\n"} {
			path := listOf(t, end, stolen[:n]...)
			if err := CheckBreached(path); err != nil {
				t.Fatal(err)
			}
			for i, p := range stolen {
				if found, err := listed(path, p); err != nil || found != (i < n) {
					t.Fatalf("%d of %d with %q: found %v, %v", i, n, end, found, err)
				}
			}
		}
	}
	d := New(nil).Breached(listOf(t, "\n", "tea with a llama"))
	if weak, ok := errors.AsType[*WeakPassword](d.checkChosen("tea with a llama")); !ok || weak.Weakness != BreachedPassword {
		t.Error("a stolen password is taken")
	}
	if err := d.checkChosen("tea with an alpaca"); err != nil {
		t.Error(err)
	}
}

func TestListThatIsNone(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"password\n123456\n", strings.Repeat("x", 5000), strings.Repeat("G", 40) + "\n"} {
		path := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if CheckBreached(path) == nil {
			t.Errorf("%.40q is taken for a list", content)
		}
	}
	if CheckBreached(filepath.Join(t.TempDir(), "none")) == nil || CheckBreached(t.TempDir()) == nil {
		t.Error("what is no file is taken for a list")
	}
	// Without the list nobody chooses a password.
	if err := New(nil).Breached("/nowhere").checkChosen("tea with a llama"); err == nil || errors.As(err, new(*WeakPassword)) {
		t.Errorf("got %v", err)
	}
}
