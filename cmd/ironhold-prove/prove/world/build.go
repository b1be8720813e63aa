//go:build linux

package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func lockThread() { runtime.LockOSThread() }

// wrongEnv tells the build with the wrong clock by how many seconds.
const wrongEnv = "IRONHOLD_PROVE_CLOCK_SECONDS"

const program = "ironhold/cmd/ironhold"

func build(ctx context.Context, to string, flags ...string) error {
	args := append([]string{"build", "-o", to}, flags...)
	out, err := exec.CommandContext(ctx, "go", append(args, program)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}

// nowHead begins the function that tells the time, up to where its seconds are known.
const nowHead = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"

const wrongSource = `
// wrongBy is how many seconds the wall clock is wrong.
var wrongBy = func() int64 {
	text, _ := syscall.Getenv("` + wrongEnv + `")
	sign, n := int64(1), int64(0)
	for i := 0; i < len(text); i++ {
		if text[i] == '-' {
			sign = -1
			continue
		}
		n = n*10 + int64(text[i]-'0')
	}
	return sign * n
}()
`

// buildWrong builds the same program with another time.Now: all of it, its libraries included,
// takes the wall clock to be off by what the environment says. The monotonic clock is right.
func buildWrong(ctx context.Context, dir, to string) error {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	path := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := strings.Replace(string(source), nowHead, nowHead+"\tsec += wrongBy\n", 1)
	if text == string(source) {
		return errors.New("time.Now of this Go looks different: the wrong clock cannot be built in")
	}
	ours := filepath.Join(dir, "wrong_time.go")
	extra := filepath.Join(dir, "wrong_by.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		path: ours, filepath.Join(filepath.Dir(path), "wrong_by.go"): extra,
	}})
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "overlay.json")
	for name, content := range map[string]string{ours: text, extra: "package time\n\nimport \"syscall\"\n" + wrongSource, list: string(overlay)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return build(ctx, to, "-overlay", list)
}
