package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"ironhold/accounts"
	"ironhold/rollout"
)

func orgAdd(ctx context.Context, c *call) error {
	slug := c.flags.String("slug", "", "short `name` for addresses and commands: a-z, 0-9, hyphen")
	name := c.flags.String("name", "", "`name` as people read it")
	maxHolds := c.flags.Int("max-holds", 5, "cap on live holds, a `number`")
	maxMachines := c.flags.Int("max-machines", 50, "cap on live holds plus active services, a `number`")
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	if err := c.require("slug", "name"); err != nil {
		return err
	}
	return c.withDatabase(ctx, func(_ settings, db *pgxpool.Pool) error {
		org, err := accounts.New(db).AddOrg(ctx, c.by(), *slug, *name, *maxHolds, *maxMachines)
		if err != nil {
			return err
		}
		return c.print(struct {
			ID          string `json:"id"`
			Slug        string `json:"slug"`
			Name        string `json:"name"`
			MaxHolds    int    `json:"max_holds"`
			MaxMachines int    `json:"max_machines"`
		}{org.ID.String(), org.Slug, org.Name, org.MaxHolds, org.MaxMachines}, "added organisation "+org.Slug)
	})
}

func userAdd(ctx context.Context, c *call) error {
	email := c.flags.String("email", "", "`address` to sign in with")
	name := c.flags.String("name", "", "`name` as people read it")
	role := c.flags.String("role", "", "`role`: customer, org-admin, sales or operator")
	org := c.flags.String("org", "", "`slug` of the organisation, for customer and org-admin")
	fromStdin := c.flags.Bool("password-stdin", false, "read the password from standard input: one line, 12 to 200 characters")
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	if err := c.require("email", "name", "role"); err != nil {
		return err
	}
	r, err := roleFlag(*role, *org)
	if err != nil {
		return err
	}
	password, err := c.password(*fromStdin)
	if err != nil {
		return err
	}
	return c.withDatabase(ctx, func(_ settings, db *pgxpool.Pool) error {
		u, err := accounts.New(db).AddUser(ctx, c.by(), accounts.NewUser{Email: *email, Name: *name, Role: r, OrgSlug: *org, Password: password})
		if err != nil {
			return err
		}
		return c.print(struct {
			ID    string `json:"id"`
			Email string `json:"email"`
			Name  string `json:"name"`
			Role  string `json:"role"`
			Org   string `json:"org,omitempty"`
		}{u.ID.String(), u.Email, u.Name, string(u.Role), *org}, fmt.Sprintf("added %s %s", u.Role, u.Email))
	})
}

// userPassword is the way back in when nobody can make a link.
func userPassword(ctx context.Context, c *call) error {
	email := c.flags.String("email", "", "`address` that the person signs in with")
	fromStdin := c.flags.Bool("password-stdin", false, "read the password from standard input: one line, 12 to 200 characters")
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	if err := c.require("email"); err != nil {
		return err
	}
	password, err := c.password(*fromStdin)
	if err != nil {
		return err
	}
	return c.withDatabase(ctx, func(_ settings, db *pgxpool.Pool) error {
		people := accounts.New(db)
		u, err := people.UserByEmail(ctx, *email)
		if err != nil {
			return err
		}
		if err := people.SetPassword(ctx, c.by(), u.ID, password); err != nil {
			return err
		}
		return c.print(struct {
			ID    string `json:"id"`
			Email string `json:"email"`
		}{u.ID.String(), u.Email}, "set the password of "+u.Email)
	})
}

// password reads one from standard input, which nobody else sees.
func (c *call) password(fromStdin bool) (string, error) {
	if !fromStdin {
		return "", usagef("--password-stdin is missing: a password on the command line would be seen by others")
	}
	password, err := readLine(c.stdin)
	if err != nil {
		return "", fmt.Errorf("password: %w", err)
	}
	return password, nil
}

// userEmailLink makes the link that a mail would have had. An earlier one ends.
func userEmailLink(ctx context.Context, c *call) error {
	email := c.flags.String("email", "", "`address` that the person signs in with now")
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	if err := c.require("email"); err != nil {
		return err
	}
	return c.withDatabase(ctx, func(s settings, db *pgxpool.Pool) error {
		secret, wish, err := accounts.New(db).EmailLink(ctx, c.by(), *email)
		if err != nil {
			return err
		}
		link := s.BaseURL + "/email?token=" + secret
		return c.print(struct {
			Email string    `json:"email"`
			Until time.Time `json:"until"`
			Link  string    `json:"link"`
		}{wish.Email, wish.Until.UTC(), link}, link)
	})
}

func tokenAdd(ctx context.Context, c *call) error {
	name := c.flags.String("name", "", "`name` that tells what it is for")
	role := c.flags.String("role", "", "`role`: customer, org-admin, sales or operator")
	org := c.flags.String("org", "", "`slug` of the organisation, for customer and org-admin")
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	if err := c.require("name", "role"); err != nil {
		return err
	}
	r, err := roleFlag(*role, *org)
	if err != nil {
		return err
	}
	return c.withDatabase(ctx, func(_ settings, db *pgxpool.Pool) error {
		token, err := accounts.New(db).AddToken(ctx, c.by(), *name, r, *org)
		if err != nil {
			return err
		}
		return c.print(struct {
			Token string `json:"token"`
		}{token}, token)
	})
}

// roleFlag checks what the command line alone can tell about --role and --org.
func roleFlag(text, org string) (accounts.Role, error) {
	role, err := accounts.ParseRole(text)
	switch {
	case err != nil:
		return "", usagef("--%v", err)
	case role.Staff() && org != "":
		return "", usagef("--org: role %s belongs to no organisation", role)
	case !role.Staff() && org == "":
		return "", usagef("--org is missing: role %s needs an organisation", role)
	}
	return role, nil
}

// readLine reads one line, without its end. A file without a line end is one too.
func readLine(r io.Reader) (string, error) {
	const most = 4096
	line, err := bufio.NewReader(io.LimitReader(r, most)).ReadString('\n')
	if err != nil && err != io.EOF { //nolint:errorlint // io.EOF is returned as it is
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func rolloutSet(ctx context.Context, c *call) error {
	launch := c.flags.String("global", "", "`launch` for all: off, opt-in, on or NN%")
	org := c.flags.String("org", "", "`slug` of the organisation whose setting follows")
	c.jsonFlag()
	settings, err := c.positionals()
	switch {
	case err != nil:
		return err
	case c.given("global") == c.given("org"):
		return usagef("give either --global LAUNCH or --org SLUG SETTING")
	case c.given("global") && len(settings) > 0:
		return usagef("unexpected argument %q", settings[0])
	case c.given("global") && !rollout.ValidLaunch(*launch):
		return usagef("--global: %q is not off, opt-in, on or 0%% to 100%%", *launch)
	case c.given("global"):
		return c.setLaunch(ctx, *launch)
	case len(settings) != 1 || !rollout.ValidSetting(settings[0]):
		return usagef("--org SLUG needs one setting: inherit, on or off")
	}
	return c.setOrgRollout(ctx, *org, settings[0])
}

func (c *call) setLaunch(ctx context.Context, launch string) error {
	return c.withDatabase(ctx, func(_ settings, db *pgxpool.Pool) error {
		l, err := rollout.New(db).SetLaunch(ctx, c.by(), launch)
		if err != nil {
			return err
		}
		return c.print(struct {
			Launch string `json:"launch"`
		}{l.Launch}, "launch is "+l.Launch)
	})
}

func (c *call) setOrgRollout(ctx context.Context, slug, setting string) error {
	return c.withDatabase(ctx, func(_ settings, db *pgxpool.Pool) error {
		st, err := rollout.New(db).SetOrg(ctx, c.by(), slug, setting)
		if err != nil {
			return err
		}
		effective := map[bool]string{true: "on", false: "off"}[st.Effective]
		return c.print(struct {
			Org       string `json:"org"`
			Setting   string `json:"setting"`
			Launch    string `json:"launch"`
			Effective bool   `json:"effective"`
			Reason    string `json:"reason"`
		}{slug, st.Setting, st.Launch, st.Effective, st.Reason},
			fmt.Sprintf("%s is set to %s: effectively %s (%s)", slug, st.Setting, effective, st.Reason))
	})
}

func userClearFactors(ctx context.Context, c *call) error {
	email := c.flags.String("email", "", "`address` to sign in with")
	c.jsonFlag()
	if _, err := c.parse(); err != nil {
		return err
	}
	if err := c.require("email"); err != nil {
		return err
	}
	return c.withDatabase(ctx, func(_ settings, db *pgxpool.Pool) error {
		people := accounts.New(db)
		u, err := people.UserByEmail(ctx, *email)
		if err != nil {
			return err
		}
		if err := people.ClearFactors(ctx, c.by(), u.ID); err != nil {
			return err
		}
		return c.print(struct {
			ID    string `json:"id"`
			Email string `json:"email"`
		}{u.ID.String(), u.Email}, "cleared "+u.Email)
	})
}
