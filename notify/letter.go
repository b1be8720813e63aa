package notify

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
	"ironhold/views/i18n"
)

// prepared is a mail, or why there is none.
type prepared struct {
	mail  Mail
	skip  string // why there is nothing to say any more
	early bool   // not yet
}

// occasion is what a mail is about, as it is now.
type occasion struct {
	Kind      string
	State     string // of the mail
	Subject   uuid.UUID
	Secret    *string
	Address   string
	Name      string // empty for somebody who is not a user yet
	Language  string
	Zone      string
	Org       *string
	Gone      bool // the person was disabled
	Now       time.Time
	Live      bool // there is still something to say
	Early     bool
	AssetTag  *string
	Deadline  *time.Time
	ServiceID *uuid.UUID
	Email     *string // the new address of a person
}

// letterSQL reads the mail with what it is about by one reading of the clock. What the language and the
// zone of somebody who is not a user yet are is not known: those of whoever invited them.
const letterSQL = `
select s.kind, s.state, s.subject_id, s.secret, coalesce(u.email, s.person), coalesce(u.name, eu.name, ''),
       coalesce(u.language, eu.language, by.language, ''), coalesce(u.time_zone, eu.time_zone, by.time_zone, 'UTC'), o.name,
       coalesce(u.disabled_at is not null, eu.disabled_at is not null, false), c.now,
       case s.kind
         when 'hold_ending' then h.state = 'held' and h.expires_at > c.now
         when 'service_ready' then v.ended_at is null
         when 'provisioning_failed' then true
         when 'invitation' then i.accepted_at is null and i.revoked_at is null and i.expires_at > c.now
         when 'password_reset' then r.used_at is null and r.revoked_at is null and r.expires_at > c.now
         when 'email_change' then e.used_at is null and e.revoked_at is null and e.expires_at > c.now
         when 'email_changed' then e.used_at is not null
         when 'machine_free' then w.state = 'told' and m.status = 'ready'
              and not exists (select from holds x where x.machine_id = m.id and x.state = 'held' and x.expires_at > c.now)
              and not exists (select from services x where x.machine_id = m.id and x.ended_at is null)
       end,
       s.kind = 'hold_ending' and not (` + endsSoon + `),
       m.asset_tag, coalesce(h.expires_at, i.expires_at, r.expires_at, e.expires_at), v.id, e.email
  from (select clock_timestamp() as now offset 0) c
 cross join mails s
  left join users u on u.id = s.user_id
  left join organisations o on o.id = s.org_id
  left join holds h on s.kind = 'hold_ending' and h.id = s.subject_id
  left join services v on s.kind in ('service_ready', 'provisioning_failed') and v.id = s.subject_id
  left join waiting_list w on s.kind = 'machine_free' and w.id = s.subject_id
  left join machines m on m.id = coalesce(h.machine_id, v.machine_id, w.machine_id)
  left join invitations i on s.kind = 'invitation' and i.id = s.subject_id
  left join users by on 'user:' || by.id = i.created_by
  left join password_resets r on s.kind = 'password_reset' and r.id = s.subject_id
  left join email_changes e on s.kind in ('email_change', 'email_changed') and e.id = s.subject_id
  left join users eu on eu.id = e.user_id
 where s.id = $2`

// letter reads what a mail is about and writes it, in the person's language and zone.
func (m *Mailer) letter(ctx context.Context, id uuid.UUID) (p prepared, err error) {
	var o occasion
	err = pg.Engine(ctx, m.db, pg.By{Actor: "mail"}, func(tx pgx.Tx) error {
		var live, early *bool
		err := tx.QueryRow(ctx, letterSQL, m.before.Seconds(), id).Scan(&o.Kind, &o.State, &o.Subject, &o.Secret, &o.Address, &o.Name, &o.Language,
			&o.Zone, &o.Org, &o.Gone, &o.Now, &live, &early, &o.AssetTag, &o.Deadline, &o.ServiceID, &o.Email)
		o.Live, o.Early = live != nil && *live, early != nil && *early
		return err
	})
	switch {
	case err != nil:
		return p, err
	case o.State != "queued":
		return p, pgx.ErrNoRows // it was sent, or given up
	case o.Gone:
		return prepared{skip: "disabled"}, nil
	case !o.Live:
		return prepared{skip: "over"}, nil
	case o.Early:
		return prepared{early: true}, nil
	}
	p.mail, err = o.write(m.base)
	p.mail.ID = id
	return p, err
}

// path is where the one link of a mail leads.
func (o occasion) path() string {
	secret := ""
	if o.Secret != nil {
		secret = url.QueryEscape(*o.Secret)
	}
	switch o.Kind {
	case "hold_ending":
		return "/holds/" + o.Subject.String()
	case "service_ready", "provisioning_failed":
		return "/services/" + o.Subject.String()
	case "invitation":
		return "/invitation?token=" + secret
	case "password_reset":
		return "/reset?token=" + secret
	case "email_change":
		return "/email?token=" + secret
	case "email_changed":
		return "/help"
	}
	return "/waiting"
}

// content is what both parts of a mail are made of.
type content struct {
	Lang, Subject, Greeting string
	Lines                   []string
	Action, URL             string
	Footer                  string
}

func (o occasion) write(base string) (Mail, error) {
	zone, err := time.LoadLocation(o.Zone)
	if err != nil {
		zone = time.UTC
	}
	lang := o.Language
	if !i18n.Known(lang) {
		lang = "en"
	}
	ctx := i18n.With(context.Background(), i18n.Locale{Lang: lang, Zone: zone})
	args := []any{"tag", text(o.AssetTag), "org", text(o.Org), "name", o.Name, "email", text(o.Email), "deadline", ""}
	if o.Deadline != nil {
		args[len(args)-1] = i18n.DateTime(ctx, *o.Deadline)
	}
	kind := o.Kind
	if kind == "invitation" && o.Org == nil {
		kind = "staff_invitation"
	}
	t := func(key string) string { return oneLine(i18n.T(ctx, key, args...)) }
	c := content{
		Lang: lang, Subject: t("mail." + kind + ".subject"), Greeting: t("mail.hello"), Lines: []string{t("mail." + kind + ".text")},
		Action: t("mail." + kind + ".action"), URL: base + o.path(), Footer: t("mail.footer"),
	}
	if o.Name == "" {
		c.Greeting = t("mail.hello_stranger")
	}
	if key := "mail." + kind + ".more"; i18n.Has(ctx, key) {
		c.Lines = append(c.Lines, t(key))
	}
	var html bytes.Buffer
	if err := letterHTML.Execute(&html, c); err != nil {
		return Mail{}, fmt.Errorf("mail: %w", err)
	}
	return Mail{
		To: mail.Address{Name: oneLine(o.Name), Address: o.Address}, Subject: c.Subject, HTML: html.String(),
		Text: c.Greeting + "\n\n" + strings.Join(c.Lines, "\n\n") + "\n\n" + c.Action + ":\n" + c.URL + "\n\n-- \n" + c.Footer + "\n",
	}, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// oneLine takes out what could begin a new line of a header.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// letterHTML escapes whatever names contain. Mail programs know little CSS, and only inside the tags.
var letterHTML = template.Must(template.New("letter").Parse(`<!DOCTYPE html>
<html lang="{{.Lang}}">
<head><meta charset="utf-8"><title>{{.Subject}}</title></head>
<body style="font-family: sans-serif; font-size: 16px; line-height: 1.5; max-width: 36em">
<p>{{.Greeting}}</p>
{{range .Lines}}<p>{{.}}</p>
{{end}}<p><a href="{{.URL}}">{{.Action}}</a></p>
<p style="color: #555; font-size: 14px">{{.Footer}}</p>
</body>
</html>
`))
