package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // people's and sites' zones, wherever it runs
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// app is the world around a command, so that tests can be one.
type app struct {
	env    func(name string) (string, bool)
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	a := &app{env: os.LookupEnv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(a.run(ctx, os.Args[1:])) //nolint:gocritic // nothing is left to be deferred
}

// run carries out one command line and returns the exit code. An error is one line on stderr.
func (a *app) run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(a.stderr, "ironhold: no command given; see: ironhold help")
		return exitUsage
	}
	if args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		args = append([]string{"help"}, args[1:]...)
	}
	cmd, rest := find(args)
	if cmd == nil {
		fmt.Fprintf(a.stderr, "ironhold: unknown command %q; see: ironhold help\n", oneLine(unknownName(args)))
		return exitUsage
	}
	c := newCall(a, cmd, rest)
	err := cmd.run(ctx, c)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errHelp):
		c.help(a.stdout)
		return exitOK
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(a.stderr, "ironhold %s: %s; see: ironhold help %s\n", cmd.name, oneLine(usage.Error()), cmd.name)
		return exitUsage
	}
	fmt.Fprintf(a.stderr, "ironhold %s: %s\n", cmd.name, oneLine(describe(err)))
	return exitCode(err)
}

// find gives the command that the first one or two words name, and what follows them.
func find(args []string) (*command, []string) {
	for n := min(2, len(args)); n >= 1; n-- {
		name := strings.Join(args[:n], " ")
		if i := slices.IndexFunc(commands(), func(c *command) bool { return c.name == name }); i >= 0 {
			return commands()[i], args[n:]
		}
	}
	return nil, nil
}

// unknownName is the first word, with the second when the first begins some command.
func unknownName(args []string) string {
	family := slices.ContainsFunc(commands(), func(c *command) bool { return strings.HasPrefix(c.name, args[0]+" ") })
	if family && len(args) > 1 {
		return args[0] + " " + args[1]
	}
	return args[0]
}

// oneLine makes one line of a text that came from elsewhere.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
