package accounts

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// commonList is a list of passwords that are tried first: words that people choose, with the
// endings that they give them, all of at least MinPassword characters, in lower case.
//
//go:embed common.txt
var commonList string

var common = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for p := range strings.FieldsSeq(commonList) {
		set[plainText(p)] = true
	}
	return set
})

// rows are the orders in which fingers and alphabets run.
var rows = []string{
	"abcdefghijklmnopqrstuvwxyz", "01234567890123456789", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm",
	"azertyuiopqsdfghjklmwxcvbn", "1qaz2wsx3edc4rfv5tgb6yhn7ujm", "qazwsxedcrfvtgbyhnujm", "1q2w3e4r5t6y7u8i9o0p", "q1w2e3r4t5y6u7i8o9p0",
}

const (
	// ownText is how many letters and digits a password must have beyond what is known of its owner.
	ownText = 6
	// minPlain is from how many letters and digits on they are judged by themselves.
	minPlain = 8
)

// Weakness says why a password that is long enough is refused all the same.
type Weakness string

// The weaknesses.
const (
	CommonPassword   Weakness = "common"   // among the first that are tried
	PersonalPassword Weakness = "personal" // made of the person's or the organisation's names
)

// WeakPassword says that a chosen password is too easy to guess.
type WeakPassword struct{ Weakness Weakness }

func (e *WeakPassword) Error() string {
	if e.Weakness == PersonalPassword {
		return "password: must not be made of your name, e-mail address or organisation"
	}
	if e.Weakness == BreachedPassword {
		return "password: was stolen somewhere and is on a list of those; choose another"
	}
	return "password: is one of those that are tried first; choose another"
}

// checkChosen is checkPassword for people who choose one: not a common one, and not one made of
// what is known of them. about are their names and addresses.
func checkChosen(password string, about ...string) error {
	if err := checkPassword(password); err != nil {
		return err
	}
	plain := plainText(password)
	if common()[plain] || monotonous(strings.ToLower(normalPassword(password))) || len(plain) >= minPlain && monotonous(plain) {
		return &WeakPassword{CommonPassword}
	}
	if left, found := withoutNames(plain, about); found && utf8.RuneCountInString(left) < ownText {
		return &WeakPassword{PersonalPassword}
	}
	return nil
}

// plainText is what is left of a password when people's usual tricks are undone: case, signs in
// place of letters, and everything else that is neither letter nor digit.
func plainText(s string) string {
	signs := strings.NewReplacer("@", "a", "$", "s", "!", "i", "0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t")
	s = signs.Replace(strings.ToLower(normalPassword(s)))
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// monotonous reports whether a text is a few signs or one piece over and over, or runs along a row.
func monotonous(s string) bool {
	text := []rune(s)
	different := map[rune]bool{}
	for _, r := range text {
		different[r] = true
	}
	if len(different) <= 3 {
		return true
	}
	for n := 1; n <= len(text)/2; n++ {
		if strings.HasPrefix(strings.Repeat(string(text[:n]), len(text)/n+1), s) {
			return true
		}
	}
	for _, row := range rows {
		row = plainText(row)
		if strings.Contains(row+row, s) || strings.Contains(reversed(row+row), s) {
			return true
		}
	}
	return false
}

func reversed(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

// withoutNames takes out of plain the names and their words of three letters or more, the longest
// first.
func withoutNames(plain string, about []string) (left string, found bool) {
	var words []string
	for _, s := range about {
		words = append(words, plainText(s))
		parts := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		for _, p := range parts {
			words = append(words, plainText(p))
		}
	}
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	for _, w := range words {
		if utf8.RuneCountInString(w) >= 3 && strings.Contains(plain, w) {
			plain, found = strings.ReplaceAll(plain, w, ""), true
		}
	}
	return plain, found
}
