//go:build unix

// Command pgserve runs a command beside a PostgreSQL server for tests:
//
//	pgserve [-deadlocks=fail|report] -- go test ./...
//	pgserve -find
//
// It starts a server with test settings in a temporary folder, exports its address as
// IRONHOLD_TEST_DATABASE_URL, runs the command, stops the server, removes its data and
// ends with the command's exit code. With the variable set already it only runs the command.
// -find prints the folder of the PostgreSQL that would be used, exit 1 when there is none.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ironhold/migrations/pgembed"
	"ironhold/migrations/pgtest"
)

func main() {
	find := flag.Bool("find", false, "print the folder of the PostgreSQL that would be used")
	deadlocks := flag.String("deadlocks", "fail", "what a deadlock that no test meant does: fail or report")
	flag.Parse()
	if *find {
		bin, err := pgembed.FindBinaries()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(bin.Dir)
		return
	}
	if flag.NArg() == 0 || (*deadlocks != "fail" && *deadlocks != "report") {
		flag.Usage()
		os.Exit(2)
	}
	code, err := run(flag.Args(), *deadlocks == "fail")
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgserve:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// prefix begins the names of the temporary data folders.
const prefix = "ironhold-test-"

// removeLeftovers clears the folders of killed runs: their servers have ended with them,
// which the free lock tells.
func removeLeftovers() {
	old, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range old {
		lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue // just being made, or somebody else's
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}

func run(args []string, deadlocksFail bool) (code int, err error) {
	if os.Getenv(pgtest.EnvURL) != "" {
		return command(args)
	}
	removeLeftovers()
	home, err := os.MkdirTemp("", prefix)
	if err != nil {
		return 1, err
	}
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	defer os.RemoveAll(home) //nolint:errcheck // the system's business from here
	srv, err := pgembed.Start(ctx, pgembed.Options{Dir: home, Logger: log, Volatile: true, Settings: pgtest.Settings()})
	if err != nil {
		return 1, err
	}
	defer func() {
		stopCtx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		err = errors.Join(err, srv.Stop(stopCtx), os.RemoveAll(srv.Dir()))
	}()
	if err := os.Setenv(pgtest.EnvURL, srv.OwnerURL()); err != nil {
		return 1, err
	}
	code, err = command(args)
	found := unmeantDeadlocks(srv.LogFile())
	for _, line := range found {
		fmt.Fprintln(os.Stderr, line)
	}
	if len(found) > 0 && deadlocksFail && err == nil {
		code, err = max(code, 1), errors.New("the server reported a deadlock that no test meant, see above")
	}
	return code, err
}

// command runs args and passes signals on. Its exit code is an answer, no error.
func command(args []string) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	go func() {
		for s := range signals {
			// An interrupt from the terminal has reached the command already.
			if s != syscall.SIGINT {
				_ = cmd.Process.Signal(s)
			}
		}
	}()
	err := cmd.Wait()
	signal.Stop(signals)
	close(signals)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal()), nil
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}

// unmeantDeadlocks returns what the log says about deadlocks, with the lines that tell
// the statements.
func unmeantDeadlocks(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // read only
	var found []string
	in := false
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		head, _, isHead := strings.Cut(line, " ERROR:  ")
		switch {
		case isHead:
			in = strings.Contains(line, "ERROR:  deadlock detected") && !strings.HasSuffix(strings.TrimSpace(head), "/"+pgtest.DeadlockMeant)
		case !strings.HasPrefix(line, "\t") && !strings.Contains(line, " DETAIL:  ") && !strings.Contains(line, " CONTEXT:  ") && !strings.Contains(line, " STATEMENT:  "):
			in = false
		}
		if in {
			found = append(found, line)
		}
	}
	return found
}
