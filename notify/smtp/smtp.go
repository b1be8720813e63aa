// Package smtp hands mails to a mail server.
package smtp

import (
	"context"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"ironhold/notify"
)

// How the connection is protected.
const (
	StartTLS = "starttls" // required, on the usual port 587
	TLS      = "tls"      // from the first byte, on the usual port 465
	NoTLS    = "none"     // for a server on this machine
)

// Config is where mails are handed on. User is empty for a server that asks for no password.
type Config struct {
	Addr           string // host:port
	Security       string // StartTLS, TLS or NoTLS
	User, Password string
	From           netmail.Address
	Timeout        time.Duration // 20 s for each step
}

// Sender is a notify.Sender. It makes a connection of its own for each mail.
type Sender struct {
	conf       Config
	host, from string
	port       int
}

// New checks the configuration; it does not connect.
func New(c Config) (*Sender, error) {
	host, port, err := split(c.Addr)
	if err != nil {
		return nil, err
	}
	if c.Timeout <= 0 {
		c.Timeout = 20 * time.Second
	}
	domain := c.From.Address[strings.LastIndexByte(c.From.Address, '@')+1:]
	return &Sender{conf: c, host: host, port: port, from: domain}, nil
}

// CheckAddr reports whether addr is a host and a port.
func CheckAddr(addr string) error {
	_, _, err := split(addr)
	return err
}

func split(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	port, err2 := strconv.Atoi(text)
	if err != nil || err2 != nil || port < 1 || port > 65535 || host == "" {
		return "", 0, fmt.Errorf("%q is not host:port, such as mail.example:587", addr)
	}
	return host, port, nil
}

// Server is host and port.
func (s *Sender) Server() string { return s.conf.Addr }

// Send hands one mail on. The Message-ID is made of the mail's id, so that a server or a person can see
// that a mail that came twice after a crash is the same.
func (s *Sender) Send(ctx context.Context, m notify.Mail) error {
	msg := mail.NewMsg()
	if err := msg.FromFormat(s.conf.From.Name, s.conf.From.Address); err != nil {
		return fmt.Errorf("sender: %w", err)
	}
	if err := msg.AddToFormat(m.To.Name, m.To.Address); err != nil {
		return fmt.Errorf("%w: %w", notify.ErrRefused, err)
	}
	msg.Subject(m.Subject)
	msg.SetMessageIDWithValue(m.ID.String() + "@" + s.from)
	msg.SetDate()
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(mail.TypeTextPlain, m.Text)
	msg.AddAlternativeString(mail.TypeTextHTML, m.HTML)
	client, err := s.client()
	if err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	err = client.DialAndSendWithContext(ctx, msg)
	if msg.IsDelivered() {
		return nil // what the server says after it took the mail changes nothing
	}
	if e, ok := errors.AsType[*mail.SendError](err); ok && !e.IsTemp() && e.ErrorCode() >= 500 {
		return fmt.Errorf("%w: %w", notify.ErrRefused, err)
	}
	if err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	return nil
}

func (s *Sender) client() (*mail.Client, error) {
	options := []mail.Option{mail.WithPort(s.port), mail.WithTimeout(s.conf.Timeout)}
	switch s.conf.Security {
	case TLS:
		options = append(options, mail.WithSSL())
	case NoTLS:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if s.conf.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(s.conf.User), mail.WithPassword(s.conf.Password))
	}
	return mail.NewClient(s.host, options...)
}
