// Package mailcatch is a mail server for trying out: it takes every mail and keeps the last ones in
// memory, for a page that shows them. It listens on this machine alone and passes nothing on.
package mailcatch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"time"
)

const (
	// keep is how many mails stay.
	keep = 200
	// maxSize bounds one mail, in bytes.
	maxSize = 1 << 20
)

// Caught is one mail.
type Caught struct {
	N             int // from 1 on
	At            time.Time
	From, To      string // of the envelope
	Subject, ID   string
	Text, HTML    string
	HeaderTo, Raw string
}

// Server is the catcher.
type Server struct {
	l net.Listener

	mu   sync.Mutex
	n    int
	list []Caught
	// Refuse, when set, is asked for each recipient; an answer such as "550 no" refuses it.
	refuse func(to string) string
}

// Start listens on a free port of this machine until ctx ends.
func Start(ctx context.Context) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("mail catcher: %w", err)
	}
	s := &Server{l: l}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	go s.accept()
	return s, nil
}

// Addr is host and port.
func (s *Server) Addr() string { return s.l.Addr().String() }

// Refuse lets f answer for recipients, to try out what happens then; "" takes the mail.
func (s *Server) Refuse(f func(to string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// All lists what is kept, the newest first.
func (s *Server) All() []Caught {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Caught, 0, len(s.list))
	for i := len(s.list) - 1; i >= 0; i-- {
		out = append(out, s.list[i])
	}
	return out
}

// Get is one of them.
func (s *Server) Get(n int) (Caught, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.list {
		if c.N == n {
			return c, true
		}
	}
	return Caught{}, false
}

func (s *Server) accept() {
	for {
		conn, err := s.l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute)) //nolint:forbidigo // of the network
			s.talk(conn)
		}()
	}
}

// talk is the least of SMTP that senders need.
func (s *Server) talk(conn net.Conn) {
	r := bufio.NewReader(io.LimitReader(conn, 2*maxSize))
	say := func(line string) { _, _ = io.WriteString(conn, line+"\r\n") }
	say("220 catcher")
	var from, to string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "EHLO":
			say("250-catcher")
			say("250 8BITMIME")
		case "HELO", "RSET", "NOOP":
			say("250 ok")
		case "MAIL":
			from, to = between(rest), ""
			say("250 ok")
		case "RCPT":
			if answer := s.ask(between(rest)); answer != "" {
				say(answer)
				continue
			}
			to = between(rest)
			say("250 ok")
		case "DATA":
			say("354 go on")
			raw, ok := readData(r)
			if !ok {
				say("552 too large")
				return
			}
			s.keep(from, to, raw)
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("502 not known here")
		}
	}
}

func (s *Server) ask(to string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse == nil {
		return ""
	}
	return s.refuse(to)
}

// between is what stands in angle brackets.
func between(s string) string {
	_, s, _ = strings.Cut(s, "<")
	s, _, _ = strings.Cut(s, ">")
	return s
}

func readData(r *bufio.Reader) (string, bool) {
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil || b.Len() > maxSize {
			return "", false
		}
		if line == ".\r\n" || line == ".\n" {
			return b.String(), true
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
}

func (s *Server) keep(from, to, raw string) {
	c := Caught{At: time.Now(), From: from, To: to, Raw: raw} //nolint:forbidigo // shown, decides nothing
	if m, err := mail.ReadMessage(strings.NewReader(raw)); err == nil {
		words := new(mime.WordDecoder)
		c.Subject, _ = words.DecodeHeader(m.Header.Get("Subject"))
		c.HeaderTo, _ = words.DecodeHeader(m.Header.Get("To"))
		c.ID = m.Header.Get("Message-Id")
		c.parts(m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	c.N = s.n
	s.list = append(s.list, c)
	s.list = s.list[max(0, len(s.list)-keep):]
}

func (c *Caught) parts(m *mail.Message) {
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		c.Text = decoded(m.Header.Get("Content-Transfer-Encoding"), m.Body)
		return
	}
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		p, err := r.NextRawPart()
		if err != nil {
			return
		}
		body := decoded(p.Header.Get("Content-Transfer-Encoding"), p)
		if strings.HasPrefix(p.Header.Get("Content-Type"), "text/html") {
			c.HTML = body
		} else {
			c.Text = body
		}
	}
}

func decoded(encoding string, r io.Reader) string {
	if strings.EqualFold(encoding, "quoted-printable") {
		r = quotedprintable.NewReader(r)
	}
	b, _ := io.ReadAll(r) // what could be read is shown
	return string(b)
}
