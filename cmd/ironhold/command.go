package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"ironhold/migrations/pg"
)

// command is one thing that the program does. run registers its flags on the call, parses, acts.
type command struct {
	name  string // one or two words
	args  string // as the usage line shows them
	short string
	run   func(ctx context.Context, c *call) error
	more  func(w io.Writer) // further help; may be nil
}

// usageError is a command line that cannot be carried out, whatever the database holds: exit 2.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// errHelp asks for the command's help instead of the command.
var errHelp = flag.ErrHelp

// call is one run of a command.
type call struct {
	*app

	cmd   *command
	args  []string
	flags *flag.FlagSet
	json  bool
}

func newCall(a *app, cmd *command, args []string) *call {
	c := &call{app: a, cmd: cmd, args: args, flags: flag.NewFlagSet(cmd.name, flag.ContinueOnError)}
	c.flags.SetOutput(io.Discard)
	c.flags.Usage = func() {}
	return c
}

// by is the command as history records it.
func (c *call) by() pg.By { return pg.By{Actor: "command:" + strings.ReplaceAll(c.cmd.name, " ", "-")} }

// jsonFlag registers --json.
func (c *call) jsonFlag() { c.flags.BoolVar(&c.json, "json", false, "print one JSON object") }

// parse reads flags and as many positional arguments as there are names.
func (c *call) parse(names ...string) ([]string, error) {
	positional, err := c.positionals()
	switch {
	case err != nil:
		return nil, err
	case len(positional) < len(names):
		return nil, usagef("%s is missing", names[len(positional)])
	case len(positional) > len(names):
		return nil, usagef("unexpected argument %q", positional[len(names)])
	}
	return positional, nil
}

// positionals reads flags before, between and after the positional arguments. "--" ends the flags.
func (c *call) positionals() ([]string, error) {
	var list []string
	for rest := c.args; len(rest) > 0; {
		if err := c.flags.Parse(rest); errors.Is(err, flag.ErrHelp) {
			return nil, errHelp
		} else if err != nil {
			return nil, &usageError{strings.ReplaceAll(err.Error(), " -", " --")}
		}
		left := c.flags.Args()
		if used := len(rest) - len(left); used > 0 && rest[used-1] == "--" {
			return append(list, left...), nil
		}
		if len(left) == 0 {
			break
		}
		list = append(list, left[0])
		rest = left[1:]
	}
	return list, nil
}

// require refuses flags that were left out or are empty.
func (c *call) require(names ...string) error {
	for _, name := range names {
		if f := c.flags.Lookup(name); f.Value.String() == "" {
			return usagef("--%s is missing", name)
		}
	}
	return nil
}

// given reports whether the flag is on the command line.
func (c *call) given(name string) bool {
	found := false
	c.flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// print writes v as one JSON object with --json, else the text as lines.
func (c *call) print(v any, text string) error {
	if !c.json {
		_, err := fmt.Fprintln(c.stdout, text)
		return err
	}
	enc := json.NewEncoder(c.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// help prints usage and flags, after run has registered them.
func (c *call) help(w io.Writer) {
	fmt.Fprintf(w, "Usage: ironhold %s %s\n\n%s\n", c.cmd.name, c.cmd.args, c.cmd.short)
	first := true
	c.flags.VisitAll(func(f *flag.Flag) {
		if first {
			fmt.Fprintf(w, "\nFlags:\n")
			first = false
		}
		value, usage := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(w, "  %-26s %s\n", strings.TrimRight("--"+f.Name+" "+value, " "), usage)
	})
	if c.cmd.more != nil {
		c.cmd.more(w)
	}
}
