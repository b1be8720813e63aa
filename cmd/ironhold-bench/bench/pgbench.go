package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNoPgbench says that there is no pgbench beside the server's binaries nor in PATH.
var ErrNoPgbench = errors.New("pgbench is not there")

// FindPgbench looks beside the server's binaries, then in PATH.
func FindPgbench(binDir string) (string, error) {
	if path := filepath.Join(binDir, "pgbench"); isProgram(path) {
		return path, nil
	}
	path, err := exec.LookPath("pgbench")
	if err != nil {
		return "", ErrNoPgbench
	}
	return path, nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// Pgbench sends n statements with pgbench and so many clients; url is the application's login.
func (f *Fleet) Pgbench(ctx context.Context, program, url, dir string, clients, n int) (Run, error) {
	before, err := f.Held(ctx)
	if err != nil {
		return Run{}, err
	}
	script := filepath.Join(dir, "claim.sql")
	if err := os.WriteFile(script, []byte(f.script(clients)), 0o600); err != nil {
		return Run{}, err
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return Run{}, err
	}
	prefix := filepath.Join(dir, "pgbench_log")
	defer removeLogs(prefix)
	cmd := exec.CommandContext(ctx, program, "--no-vacuum", "--protocol=prepared", "--file="+script, //nolint:gosec // the developer's own
		"--client="+strconv.Itoa(clients), "--jobs="+strconv.Itoa(min(clients, runtime.GOMAXPROCS(0))),
		"--transactions="+strconv.Itoa(n/clients), "--log", "--log-prefix="+prefix)
	cmd.Env = append(os.Environ(), "PGHOST="+cfg.Host, "PGPORT="+strconv.Itoa(int(cfg.Port)), "PGUSER="+cfg.User, "PGPASSWORD="+cfg.Password,
		"PGDATABASE="+cfg.Database, "PGOPTIONS=-c role=ironhold_engine -c search_path=public -c plan_cache_mode=force_generic_plan -c app.actor=bench")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return Run{}, fmt.Errorf("pgbench: %w: %s", err, strings.TrimSpace(out.String()))
	}
	after, err := f.Held(ctx)
	if err != nil {
		return Run{}, err
	}
	ends, err := readLogs(prefix)
	return rated(ends, after-before), err
}

// script draws the lot and one of the client's organisations.
func (f *Fleet) script(clients int) string {
	each := len(f.orgsOf(0, clients))
	ids := make([]string, len(f.Orgs))
	for i, id := range f.Orgs {
		ids[i] = "'" + id.String() + "'"
	}
	return fmt.Sprintf("\\set lot random(0, %d)\n\\set org (:client_id * %d + random(0, %d)) %% %d + 1\n%s;\n", lots-1, each, each-1, len(f.Orgs),
		f.Statement(":lot", "(array["+strings.Join(ids, ",")+"]::uuid[])[:org]"))
}

func logFiles(prefix string) []string {
	files, _ := filepath.Glob(prefix + ".*") // the pattern is ours
	return files
}

func removeLogs(prefix string) {
	for _, file := range logFiles(prefix) {
		_ = os.Remove(file)
	}
}

// readLogs reads "client transaction took_us script epoch_s epoch_us" of every transaction.
func readLogs(prefix string) ([]finished, error) {
	var out []finished
	for _, file := range logFiles(prefix) {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
			var client, number, took, script, sec, usec int64
			if _, err := fmt.Sscan(lines.Text(), &client, &number, &took, &script, &sec, &usec); err != nil {
				return nil, fmt.Errorf("pgbench's log: %w", err)
			}
			at := time.Duration(sec)*time.Second + time.Duration(usec)*time.Microsecond
			out = append(out, finished{at: at, took: time.Duration(took) * time.Microsecond})
		}
	}
	return out, nil
}
