package main

import (
	"os"
	"strings"
	"testing"
)

// The README's table of settings is that of the code, row by row.
func TestReadmeDocumentsTheSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settingsTable() {
		if row := readmeRow(s); !strings.Contains(string(text), "\n"+row+"\n") {
			t.Errorf("README.md lacks the row\n%s", row)
		}
	}
}

func readmeRow(s setting) string {
	fallback := ""
	if s.fallback != "" {
		fallback = "`" + s.fallback + "`"
	}
	return "| `" + s.name + "` | " + fallback + " | " + s.meaning + " |"
}
