package smtp_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"ironhold/notify"
	"ironhold/notify/mailcatch"
	"ironhold/notify/smtp"
)

var from = mail.Address{Name: "Ironhold \"Ä\"", Address: "no-reply@portal.example"}

func letter() notify.Mail {
	return notify.Mail{
		ID: uuid.New(), To: mail.Address{Name: "Ada Ö, <x>", Address: "ada@acme.example"}, Subject: "Ärger mit {{.}} – " + strings.Repeat("lang ", 40),
		Text: "Grüße\n.\n..\n" + strings.Repeat("x", 2000) + "\n", HTML: "<p>Grüße</p>",
	}
}

// What was written is what is read, and the mail says who it is and that a program wrote it.
func TestSend(t *testing.T) {
	t.Parallel()
	catcher, err := mailcatch.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := smtp.New(smtp.Config{Addr: catcher.Addr(), Security: smtp.NoTLS, From: from})
	if err != nil {
		t.Fatal(err)
	}
	m := letter()
	if err := s.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	c, ok := catcher.Get(1)
	if !ok || len(catcher.All()) != 1 || c.From != from.Address || c.To != m.To.Address || c.Subject != m.Subject || c.ID != "<"+m.ID.String()+"@portal.example>" {
		t.Fatalf("%+v", c)
	}
	if text := strings.ReplaceAll(c.Text, "\r\n", "\n"); strings.TrimSpace(text) != strings.TrimSpace(m.Text) || strings.TrimSpace(c.HTML) != m.HTML {
		t.Errorf("text %q, HTML %q", c.Text, c.HTML)
	}
	got, err := mail.ReadMessage(strings.NewReader(c.Raw))
	if err != nil {
		t.Fatal(err)
	}
	to, err := got.Header.AddressList("To")
	if err != nil || len(to) != 1 || *to[0] != m.To || got.Header.Get("Auto-Submitted") != "auto-generated" {
		t.Errorf("%v, %v, %v", to, err, got.Header)
	}
	for line := range strings.SplitSeq(c.Raw, "\n") {
		if len(line) > 999 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

// Without the protection that was asked for nothing is sent, nor a password said.
func TestNoTLSNoMail(t *testing.T) {
	t.Parallel()
	catcher, err := mailcatch.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, security := range []string{smtp.StartTLS, smtp.TLS, ""} {
		s, err := smtp.New(smtp.Config{Addr: catcher.Addr(), Security: security, From: from, User: "u", Password: "p", Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(t.Context(), letter()); err == nil || errors.Is(err, notify.ErrRefused) {
			t.Errorf("%q: %v", security, err)
		}
	}
	if n := len(catcher.All()); n != 0 {
		t.Errorf("%d mails", n)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	catcher, err := mailcatch.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := smtp.New(smtp.Config{Addr: catcher.Addr(), Security: smtp.NoTLS, From: from})
	if err != nil {
		t.Fatal(err)
	}
	for answer, final := range map[string]bool{"550 no such person": true, "451 later": false, "421 closing": false} {
		catcher.Refuse(func(string) string { return answer })
		if err := s.Send(t.Context(), letter()); err == nil || errors.Is(err, notify.ErrRefused) != final {
			t.Errorf("%s: %v", answer, err)
		}
	}
	bad := letter()
	bad.To.Address = "nobody"
	if err := s.Send(t.Context(), bad); !errors.Is(err, notify.ErrRefused) {
		t.Errorf("no address: %v", err)
	}
	for _, addr := range []string{"", "host", "host:", "host:0", "host:70000", ":25", "host:x"} {
		if _, err := smtp.New(smtp.Config{Addr: addr, From: from}); err == nil {
			t.Errorf("%q was taken", addr)
		}
	}
}

// What the server has taken is sent, however badly the connection ends: sent again, it would come twice.
func TestTakenIsSent(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]string{"hangs up": "", "refuses what follows": "550 no more\r\n"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go takeOne(l, after)
		s, err := smtp.New(smtp.Config{Addr: l.Addr().String(), Security: smtp.NoTLS, From: from, Timeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(t.Context(), letter()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// takeOne takes a mail, answers what follows with after, once, and hangs up.
func takeOne(l net.Listener, after string) {
	conn, err := l.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	say := func(text string) { _, _ = io.WriteString(conn, text) }
	say("220 ready\r\n")
	in := bufio.NewScanner(conn)
	for data := false; in.Scan(); {
		switch line := in.Text(); {
		case data && line == ".":
			say("250 taken\r\n")
			if after != "" && in.Scan() {
				say(after)
			}
			return
		case data:
		case line == "DATA":
			data = true
			say("354 go on\r\n")
		default:
			say("250 ok\r\n")
		}
	}
}
