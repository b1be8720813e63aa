package i18n

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/text/feature/plural"
)

//go:embed messages
var files embed.FS

type message struct {
	forms map[plural.Form]string
}

// catalogues are read once; the files are part of the binary, so a fault in them is a fault of the
// build and stops the start.
var catalogues = mustLoad()

func mustLoad() map[string]map[string]message {
	all := map[string]map[string]message{}
	for _, lang := range Languages() {
		c, err := load(lang)
		if err != nil {
			panic("messages: " + err.Error())
		}
		all[lang] = c
	}
	all[Pseudo] = pseudo(all["en"])
	return all
}

func load(lang string) (map[string]message, error) {
	names, err := fs.Glob(files, path.Join("messages", lang, "*.json"))
	if err != nil {
		return nil, err
	}
	c := map[string]message{}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var raw map[string]json.RawMessage
		if err := json.Unmarshal(data, &raw); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for key, value := range raw {
			if _, twice := c[key]; twice {
				return nil, fmt.Errorf("%s: key %q is there twice", name, key)
			}
			m, err := parse(value)
			if err != nil {
				return nil, fmt.Errorf("%s: key %q: %w", name, key, err)
			}
			c[key] = m
		}
	}
	return c, nil
}

func parse(value json.RawMessage) (message, error) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return message{map[plural.Form]string{plural.Other: text}}, nil
	}
	var forms map[string]string
	if err := json.Unmarshal(value, &forms); err != nil {
		return message{}, err
	}
	m := message{map[plural.Form]string{}}
	for name, text := range forms {
		form, ok := map[string]plural.Form{"zero": plural.Zero, "one": plural.One, "two": plural.Two,
			"few": plural.Few, "many": plural.Many, "other": plural.Other}[name]
		if !ok {
			return message{}, fmt.Errorf("unknown plural form %q", name)
		}
		m.forms[form] = text
	}
	if _, ok := m.forms[plural.Other]; !ok {
		return message{}, fmt.Errorf("no form \"other\"")
	}
	return m, nil
}

const longWord = 24

// pseudo makes longer, accented texts of English ones, leaving arguments as they are.
func pseudo(en map[string]message) map[string]message {
	accents := strings.NewReplacer("a", "á", "e", "ë", "i", "ï", "o", "ö", "u", "ü", "A", "Å", "E", "É", "O", "Ø", "y", "ÿ", "c", "ç", "n", "ñ")
	out := make(map[string]message, len(en))
	for key, m := range en {
		forms := map[plural.Form]string{}
		for form, text := range m.forms {
			var b strings.Builder
			b.WriteString("[")
			rest := text
			for {
				before, after, found := strings.Cut(rest, "{")
				b.WriteString(accents.Replace(before))
				if !found {
					break
				}
				name, tail, _ := strings.Cut(after, "}")
				b.WriteString("{" + name + "}")
				rest = tail
			}
			// Two fifths longer, in words as long as German ones are.
			for left := len(text) * 2 / 5; left > 0; left -= longWord {
				b.WriteString(" " + strings.Repeat("ẋ", min(left, longWord)))
			}
			b.WriteString("]")
			forms[form] = b.String()
		}
		out[key] = message{forms}
	}
	return out
}
