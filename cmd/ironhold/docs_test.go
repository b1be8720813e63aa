package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the documents say is tested names tests that are there.
func TestDocumentsNameRealTests(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == ".ironhold" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			there[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)")
	for _, doc := range []string{"cases.md", "ui.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs", doc))
		if err != nil {
			t.Fatal(err)
		}
		names := named.FindAllStringSubmatch(string(text), -1)
		if len(names) < 20 {
			t.Errorf("docs/%s names %d tests: is it still written like that?", doc, len(names))
		}
		for _, m := range names {
			if !there[m[1]] {
				t.Errorf("docs/%s names %s, which is no test", doc, m[1])
			}
		}
	}
}
