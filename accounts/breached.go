package accounts

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the form in which such lists are published; it protects nothing
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// BreachedPassword says that a password is on the list of those that were stolen elsewhere.
const BreachedPassword Weakness = "breached"

// Breached makes nobody choose a password of the list at path: a file of SHA-1 sums in hexadecimal, one
// a line, sorted, with anything after a colon. "" is no list. The file is read where it is looked up,
// whatever its size.
func (d *Directory) Breached(path string) *Directory {
	d.breached = path
	return d
}

// longestLine bounds a line of the list: a sum, a colon, a count.
const longestLine = 128

// CheckBreached looks whether a file can be such a list.
func CheckBreached(path string) error {
	if _, err := listed(path, "a password that nobody looks for"); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// listed reports whether the password is in the file at path, by halving it.
func listed(path, password string) (bool, error) {
	f, err := os.Open(path) //nolint:gosec // the operator named it
	if err != nil {
		return false, errors.New("cannot be read")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false, errors.New("is no file")
	}
	sum := sha1.Sum([]byte(password)) //nolint:gosec // see above
	want := strings.ToUpper(hex.EncodeToString(sum[:]))
	low, high := int64(0), info.Size()
	for low < high {
		middle := (low + high) / 2
		start, line, err := lineAt(f, middle)
		if err != nil {
			return false, err
		}
		switch strings.Compare(strings.ToUpper(line), want) {
		case 0:
			return true, nil
		case -1:
			if low, err = nextLine(f, middle); err != nil {
				return false, err
			}
		default:
			high = start
		}
	}
	return false, nil
}

// lineAt gives the sum on the line that the byte at is in, and where the line begins.
func lineAt(f io.ReaderAt, at int64) (start int64, sum string, err error) {
	from := max(0, at-longestLine)
	buf := make([]byte, 2*longestLine)
	n, err := f.ReadAt(buf, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, "", errors.New("cannot be read")
	}
	buf = buf[:n]
	offset := int(at - from)
	begin := bytes.LastIndexByte(buf[:offset], '\n') + 1
	line := buf[begin:]
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	line, _, _ = bytes.Cut(bytes.TrimRight(line, "\r"), []byte(":"))
	if len(line) != 2*sha1.Size || begin == 0 && from > 0 {
		return 0, "", fmt.Errorf("has a line that is no SHA-1 sum near byte %d", at)
	}
	if _, err := hex.DecodeString(string(line)); err != nil {
		return 0, "", fmt.Errorf("has a line that is no SHA-1 sum near byte %d", at)
	}
	return from + int64(begin), string(line), nil
}

// nextLine is where the line after that of the byte at begins.
func nextLine(f io.ReaderAt, at int64) (int64, error) {
	buf := make([]byte, longestLine)
	n, err := f.ReadAt(buf, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, errors.New("cannot be read")
	}
	if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
		return at + int64(i) + 1, nil
	}
	return at + int64(n), nil
}

// checkChosen is what is asked of every password that somebody chooses. An error that is neither
// *Invalid nor *WeakPassword means that the list could not be read: then none is chosen.
func (d *Directory) checkChosen(password string, about ...string) error {
	if err := checkChosen(password, about...); err != nil || d.breached == "" {
		return err
	}
	found, err := listed(d.breached, password)
	switch {
	case err != nil:
		return fmt.Errorf("the list of stolen passwords %w", err)
	case found:
		return &WeakPassword{BreachedPassword}
	}
	return nil
}

// asWeak parts what is wrong with a password from what else went wrong.
func asWeak(err error) (weak, other error) {
	if errors.As(err, new(*Invalid)) || errors.As(err, new(*WeakPassword)) {
		return err, nil
	}
	return nil, err
}
