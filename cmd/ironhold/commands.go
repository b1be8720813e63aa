package main

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// commands lists everything that the program does, in the order of the help.
func commands() []*command {
	return slices.Concat([]*command{
		{name: "serve", args: "[--role web|worker] [--no-migrate] [--demo]",
			short: "Run the web server and the workers until SIGTERM or SIGINT.", run: serve, more: settingsHelp},
		{name: "config", args: "[--json]",
			short: "Print the settings as they are in force, secrets left out.", run: showConfig},
		{name: "migrate", args: "[--json]",
			short: "Bring schema and roles up to this version. Safe to run twice and by two at once.", run: migrate},
		{name: "demo", args: "[--json]",
			short: "Load sample fleet, organisations and people into an empty database and set the launch on.", run: demo},
		{name: "import", args: "--format csv FILE [--dry-run] [--json]",
			short: "Take machines in from a file. Refused rows are listed by line; the others are taken in.", run: importFleet},
		{name: "org add", args: "--slug S --name N [--max-holds 5] [--max-machines 50] [--json]",
			short: "Add an organisation.", run: orgAdd},
		{name: "user add", args: "--email E --name N --role ROLE [--org SLUG] --password-stdin [--json]",
			short: "Add a person who signs in. Roles: customer, org-admin (with --org), sales, operator.", run: userAdd},
		{name: "user clear-factors", args: "--email E [--json]",
			short: "Take passkeys, app and recovery codes away from somebody who has lost them, and sign them out.", run: userClearFactors},
		{name: "user password", args: "--email E --password-stdin [--json]",
			short: "Set a person's password and end their sessions: when nobody else can, such as for the last operator.", run: userPassword},
		{name: "user email-link", args: "--email PRESENT [--json]",
			short: "Make the link that confirms the new address that a person asked for, where no mail is sent. Hand it to the new address.", run: userEmailLink},
		{name: "token add", args: "--name N --role ROLE [--org SLUG] [--json]",
			short: "Make an API token and print it, once: only its hash is stored.", run: tokenAdd},
		{name: "rollout set", args: "--global off|opt-in|on|NN%  |  --org SLUG inherit|on|off",
			short: "Set for whom ordering is switched on.", run: rolloutSet},
		{name: "machine status", args: "TAG STATUS --reason R [--json]",
			short: "Move a machine on in its life; legal moves only.", run: machineStatus},
		{name: "machine wiped", args: "TAG --reason R [--json]",
			short: "Record that a machine was wiped; one in cleaning becomes ready.", run: machineWiped},
		{name: "machine release", args: "TAG --reason R [--json]",
			short: "Let a machine that was set aside after failures come back on sale.", run: machineRelease},
		{name: "machine bmc", args: "TAG ADDRESS [--fingerprint F] [--json]",
			short: "Record how a machine's BMC is reached: its address, or none, and the SHA-256 of its certificate.", run: machineBMC},
		{name: "sweep", args: "[--json]",
			short: "Expire overdue holds now and print how many.", run: sweep},
		{name: "doctor", args: "[--json]",
			short: "Check every invariant; exit 1 when one is violated.", run: doctor},
	}, clientCommands(), []*command{
		{name: "help", args: "[COMMAND]", short: "Explain the program or one command.", run: help},
	})
}

func help(ctx context.Context, c *call) error {
	if len(c.args) > 0 && c.args[0] != "-h" && c.args[0] != "--help" {
		cmd, rest := find(c.args)
		if cmd == nil || len(rest) > 0 {
			return usagef("unknown command %q", oneLine(unknownName(c.args)))
		}
		if cmd.name != "help" {
			of := newCall(c.app, cmd, []string{"--help"})
			if err := cmd.run(ctx, of); err != nil && err != errHelp { //nolint:errorlint // returned as it is
				return err
			}
			of.help(c.stdout)
			return nil
		}
	}
	overview(c.stdout)
	return nil
}

func overview(w io.Writer) {
	fmt.Fprint(w, "Ironhold sells physical servers: each machine is given exactly once.\n\nUsage: ironhold COMMAND [flags]\n\n")
	for _, cmd := range commands() {
		fmt.Fprintf(w, "  %-15s %s\n", cmd.name, cmd.short)
	}
	fmt.Fprint(w, `
Each command explains itself: ironhold help COMMAND. With --json it prints one JSON object.
Settings come from the environment: ironhold help serve lists them. Without DATABASE_URL a command
uses the embedded PostgreSQL of the data folder, and starts it if no other process has.
Exit codes: 0 done, 1 error (one line on stderr), 2 bad usage; the commands
of the API have one more for each outcome: ironhold help hold.
`)
}
