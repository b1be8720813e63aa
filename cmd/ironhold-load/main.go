// Command ironhold-load orders over HTTP for a while and then compares what was acknowledged with what
// is there: the question that a failover has to answer. It needs nothing but addresses and tokens.
//
//	ironhold-load -urls http://127.0.0.1:8080 -tokens tokens.txt -for 60s
//
// Each worker holds any machine and gives it back; an order without a definite answer is sent again with
// its key until it has one. Exit code 1 when something acknowledged is gone, a key has two holds, or an
// answer was 500.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	urls := flag.String("urls", "http://127.0.0.1:8080", "addresses, separated by commas")
	tokens := flag.String("tokens", "", "`file` with a token of another organisation in each line")
	length := flag.Duration("for", time.Minute, "how long")
	workers := flag.Int("workers", 8, "orders at once")
	flag.Parse()
	if err := load(ctx, strings.Split(*urls, ","), *tokens, *length, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "ironhold-load:", err)
		os.Exit(1)
	}
}

func load(ctx context.Context, urls []string, file string, length time.Duration, workers int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("-tokens: %w", err)
	}
	tokens := strings.Fields(string(text))
	if len(tokens) == 0 || workers < 1 {
		return fmt.Errorf("-tokens: %s has none, or -workers is below 1", file)
	}
	l := newLedger()
	people := make([]*person, workers)
	for i := range people {
		people[i] = newPerson(urls, tokens[i%len(tokens)], i, l)
	}
	ordering, end := context.WithTimeout(ctx, length)
	defer end()
	orderAll(ctx, ordering, people)
	fmt.Println(l.summary())
	return l.compare(ctx, people)
}
