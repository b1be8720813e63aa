package main

import (
	"context"
	"errors"
	"net/mail"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"ironhold/notify"
	"ironhold/notify/mailcatch"
	"ironhold/notify/smtp"
)

// startCatcher gives a trial a mail server of its own, when it has none; its mails are shown to
// operators.
func (p *process) startCatcher(ctx context.Context) error {
	if !p.options.demo || p.settings.Mail.Addr != "" {
		return nil
	}
	ctx, p.closeCatcher = context.WithCancel(context.WithoutCancel(ctx))
	catcher, err := mailcatch.Start(ctx)
	if err != nil {
		return err
	}
	p.catcher = catcher
	p.settings.Mail = smtp.Config{
		Addr: catcher.Addr(), Security: smtp.NoTLS, From: mail.Address{Name: "Ironhold", Address: "no-reply@ironhold.example"},
	}
	return nil
}

// mailer is nil for a portal without mail.
func (p *process) mailer(db *pgxpool.Pool) (*notify.Mailer, error) {
	if p.settings.Mail.Addr == "" {
		return nil, nil
	}
	if p.settings.BaseURL == "" {
		return nil, errors.New("BASE_URL: is required with SMTP_ADDR where no pages are served: mails have links")
	}
	sender, err := smtp.New(p.settings.Mail)
	if err != nil {
		return nil, err
	}
	return notify.NewMailer(db, sender, p.settings.BaseURL, p.settings.MailBefore), nil
}

// relayCollector asks for the relay's lag at each scrape; it is left out while the database is away.
type relayCollector struct {
	db  *pgxpool.Pool
	lag *prometheus.Desc
}

func newRelayCollector(db *pgxpool.Pool) *relayCollector {
	return &relayCollector{db: db, lag: prometheus.NewDesc("ironhold_relay_lag_seconds",
		"Age of the oldest webhook message or mail that no job was made of yet; 0 when there is none.", nil, nil)}
}

// Describe names the metric.
func (c *relayCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.lag }

// Collect asks the database.
func (c *relayCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	if lag, err := notify.Lag(ctx, c.db); err == nil {
		ch <- prometheus.MustNewConstMetric(c.lag, prometheus.GaugeValue, lag)
	}
}
