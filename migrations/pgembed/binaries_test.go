//go:build unix

package pgembed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeBin is a folder whose postgres tells any version.
func fakeBin(t *testing.T, says string) string {
	t.Helper()
	dir := openDir(t)
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+says+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBinariesFromTheEnvironment(t *testing.T) {
	tests := []struct{ name, says, want string }{
		{"new", "postgres (PostgreSQL) 18.4", "18.4"},
		{"debian", "postgres (PostgreSQL) 16.3 (Debian 16.3-1)", "16.3"},
		{"beta", "postgres (PostgreSQL) 19beta1", "19beta1"},
		{"too old", "postgres (PostgreSQL) 14.2", "older than 15"},
		{"something else", "hello", "does not tell its version"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("IRONHOLD_PG_BIN", fakeBin(t, test.says))
			bin, err := FindBinaries()
			if err != nil {
				if !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "IRONHOLD_PG_BIN: ") {
					t.Fatalf("err = %v", err)
				}
				return
			}
			if bin.Version != test.want {
				t.Fatalf("version %q", bin.Version)
			}
		})
	}
	t.Run("no folder", func(t *testing.T) {
		t.Setenv("IRONHOLD_PG_BIN", "/nowhere")
		if _, err := FindBinaries(); err == nil || !strings.Contains(err.Error(), "/nowhere") {
			t.Fatalf("err = %v", err)
		}
	})
}

func TestInstalledBinariesAreFound(t *testing.T) {
	t.Parallel()
	bin, err := FindBinaries()
	if err != nil {
		t.Fatal(err)
	}
	if bin.Major < MinMajor || !filepath.IsAbs(bin.Dir) {
		t.Fatalf("%+v", bin)
	}
}

func TestToolFoldersOfOthersAreNotTrusted(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	if !trusted(dir) {
		t.Fatal("our own folder is refused")
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if trusted(dir) {
		t.Fatal("a folder that everybody writes is trusted")
	}
}
